//! Random choices from a seed.

/// A stream of random numbers (splitmix64). Equal seeds give equal streams on every machine.
pub struct Dice(u64);

impl Dice {
    /// The stream of one case: it depends on nothing but these three.
    pub fn new(seed: u64, kind: u64, case: u64) -> Self {
        let mut dice = Dice(seed);
        for number in [kind, case] {
            dice.0 = dice.next() ^ number;
        }
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end - 1`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A range of at most `most` within `length`.
    pub fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let count = self.below(most.min(length - start) + 1);
        start..start + count
    }
}
