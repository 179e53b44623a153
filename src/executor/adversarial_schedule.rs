//! Decides what happens next when anything may: a scheduler that means no good, and does so by a seed.
//!
//! Everybody has a rank, and the first in rank goes first; now and then all ranks change. Where they change with
//! every action, that is any order at all. Where they change rarely, some starve while others run far ahead,
//! which is where lost updates show. The seed decides how often, and who is ranked.

use crate::protocol::EntityId;

/// Something that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The oldest message of a channel is handed over.
    Deliver {
        /// Who sent it.
        from: EntityId,
        /// Who gets it.
        to: EntityId,
        /// Whether it is an answer.
        is_ack: bool,
    },
    /// An entity does what it may.
    Step(EntityId),
}

/// Who is favoured or starved together.
#[derive(Clone, Copy, Debug)]
enum Ranked {
    /// Every channel and every entity that would step by itself.
    Each,
    /// Entities, with all that is sent to them.
    Receivers,
    /// Entities, with all that they send.
    Senders,
    /// Steps, answers, and everything else.
    Kinds,
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct AdversarialSchedule {
    random: u64,
    /// Decides the ranks until they change.
    ranks: u64,
    ranked: Ranked,
    /// Ranks change about once in so many actions.
    patience: u64,
}

impl AdversarialSchedule {
    /// One of very many.
    pub fn new(seed: u64) -> Self {
        let random = stir(seed, 0x243f_6a88_85a3_08d3);
        let ranked = [Ranked::Each, Ranked::Each, Ranked::Receivers, Ranked::Senders, Ranked::Kinds];
        let patience = [1, 1, 5, 30, 300];
        AdversarialSchedule {
            random,
            ranks: random,
            ranked: ranked[(random >> 20) as usize % ranked.len()],
            patience: patience[(random >> 40) as usize % patience.len()],
        }
    }

    /// The one of several actions that goes first. The order in which they are given matters not.
    pub fn choose(&mut self, actions: impl Iterator<Item = Choice>) -> Option<Choice> {
        self.random = stir(self.random, 1);
        if self.random.is_multiple_of(self.patience) {
            self.ranks = self.random;
        }
        actions.max_by_key(|action| self.rank(action))
    }

    /// The rank of an action; among equals, chance decides.
    fn rank(&self, action: &Choice) -> (u64, u64) {
        let (group, each) = match *action {
            Choice::Deliver { from, to, is_ack } => {
                let each = u64::from(from.0) << 32 | u64::from(to.0);
                let group = match self.ranked {
                    Ranked::Each => each,
                    Ranked::Receivers => u64::from(to.0),
                    Ranked::Senders => u64::from(from.0),
                    Ranked::Kinds => u64::from(is_ack),
                };
                (group, each)
            }
            Choice::Step(id) => {
                let each = u64::from(id.0) << 32 | u64::from(id.0);
                let group = match self.ranked {
                    Ranked::Each => each,
                    Ranked::Receivers | Ranked::Senders => u64::from(id.0),
                    Ranked::Kinds => 2,
                };
                (group, each)
            }
        };
        (stir(self.ranks, group), stir(self.random, each))
    }
}

/// Mixes two numbers well.
fn stir(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the seed, nothing waits for ever: every one of a few actions is chosen at some time.
    #[test]
    fn everything_happens_at_some_time() {
        let deliver = |from, to, is_ack| Choice::Deliver { from: EntityId(from), to: EntityId(to), is_ack };
        let actions =
            [deliver(0, 1, false), deliver(1, 0, true), deliver(2, 1, true), Choice::Step(EntityId(3))];
        for seed in 0..200 {
            let mut schedule = AdversarialSchedule::new(seed);
            let mut chosen = [false; 4];
            for _ in 0..20_000 {
                let action = schedule.choose(actions.iter().copied()).expect("there are some");
                chosen[actions.iter().position(|known| *known == action).expect("one of them")] = true;
            }
            assert_eq!(chosen, [true; 4], "seed {seed}");
        }
    }
}
