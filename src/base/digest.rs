//! The digest: one number for everything a run committed, to the bit.
//!
//! Every body of a frame has a hash of its own; the hash of a frame is their sum, so it needs no order and no gathering:
//! threads and processes add up their own bodies, and the sums are added. The digest chains the frames.

use std::fmt;

use xxhash_rust::xxh3::xxh3_128;

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::parallel;
use crate::base::state::BodyState;
use crate::base::time::Tick;

/// A hash over the raw bits of every committed frame, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub u128);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A body in the digest: its id and the numbers of its state.
const BODY_BYTES: usize = 4 + 13 * 8;

/// The sum of the hashes of some bodies of one frame. Sums of disjoint sets of bodies add up to the sum of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSum {
    sum: u128,
    bodies: u64,
}

impl FrameSum {
    /// Adds a body.
    #[inline]
    pub fn add(&mut self, id: BodyId, state: &BodyState) {
        let mut bytes = [0u8; BODY_BYTES];
        bytes[..4].copy_from_slice(&id.0.to_le_bytes());
        for (chunk, number) in bytes[4..].chunks_exact_mut(8).zip(state.to_array()) {
            chunk.copy_from_slice(&number.to_bits().to_le_bytes());
        }
        self.sum = self.sum.wrapping_add(xxh3_128(&bytes));
        self.bodies += 1;
    }

    /// Adds the bodies of another sum.
    pub fn join(&mut self, other: &FrameSum) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.bodies += other.bodies;
    }

    /// The sum of all bodies of a frame, by all threads that help this one.
    pub fn of(frame: &Frame) -> Self {
        let mut sums = Vec::new();
        parallel::par_collect(&mut sums, frame.bodies.len(), |range, sums| {
            let mut sum = FrameSum::default();
            frame.bodies[range].iter().for_each(|(id, state)| sum.add(*id, state));
            sums.push(sum);
        });
        sums.iter().fold(FrameSum::default(), |mut all, sum| {
            all.join(sum);
            all
        })
    }
}

/// Computes a [`Digest`] frame by frame.
#[derive(Clone, Copy, Default)]
pub struct Digester {
    chained: u128,
}

impl Digester {
    /// The digest of no frame.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chains the next frame.
    pub fn add(&mut self, frame: &Frame) {
        self.add_sum(frame.index, frame.tick, &FrameSum::of(frame));
    }

    /// Chains the next frame, given by the sum of its bodies.
    pub fn add_sum(&mut self, index: u64, tick: Tick, sum: &FrameSum) {
        let mut bytes = [0u8; 16 + 3 * 8 + 16];
        bytes[..16].copy_from_slice(&self.chained.to_le_bytes());
        bytes[16..24].copy_from_slice(&index.to_le_bytes());
        bytes[24..32].copy_from_slice(&tick.to_le_bytes());
        bytes[32..40].copy_from_slice(&sum.bodies.to_le_bytes());
        bytes[40..].copy_from_slice(&sum.sum.to_le_bytes());
        self.chained = xxh3_128(&bytes);
    }

    /// The digest of all frames added so far.
    pub fn digest(&self) -> Digest {
        Digest(self.chained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::math::Vec3;

    fn frame(index: u64, heights: &[(u32, f64)]) -> Frame {
        let body = |(id, height): &(u32, f64)| (BodyId(*id), BodyState::at_rest(Vec3::y() * *height));
        Frame { index, tick: 4 * index, time_s: 0.0, bodies: heights.iter().map(body).collect() }
    }

    fn digest(frames: &[Frame]) -> Digest {
        let mut digester = Digester::new();
        frames.iter().for_each(|frame| digester.add(frame));
        digester.digest()
    }

    #[test]
    fn bodies_need_no_order_and_parts_add_up() {
        let (one, other) =
            (frame(0, &[(0, 1.0), (1, 2.0), (2, 3.0)]), frame(0, &[(2, 3.0), (0, 1.0), (1, 2.0)]));
        assert_eq!(digest(std::slice::from_ref(&one)), digest(&[other]));
        let mut sum = FrameSum::of(&frame(0, &[(1, 2.0)]));
        sum.join(&FrameSum::of(&frame(0, &[(2, 3.0), (0, 1.0)])));
        assert_eq!(sum, FrameSum::of(&one));
    }

    #[test]
    fn every_bit_id_frame_and_order_of_frames_counts() {
        let first = frame(0, &[(0, 1.0), (1, 2.0)]);
        let expected = digest(&[first.clone(), frame(1, &[(0, 1.0), (1, 2.0)])]);
        let swapped = frame(0, &[(0, 2.0), (1, 1.0)]);
        let nudged = frame(0, &[(0, 1.0f64.next_up()), (1, 2.0)]);
        let negative_zero = frame(0, &[(0, 1.0), (1, 2.0), (2, -0.0)]);
        let zero = frame(0, &[(0, 1.0), (1, 2.0), (2, 0.0)]);
        let others = [
            digest(std::slice::from_ref(&first)),
            digest(&[swapped, frame(1, &[(0, 1.0), (1, 2.0)])]),
            digest(&[nudged, frame(1, &[(0, 1.0), (1, 2.0)])]),
            digest(&[frame(1, &[(0, 1.0), (1, 2.0)]), first]),
        ];
        assert!(others.iter().all(|other| *other != expected));
        assert_ne!(digest(&[negative_zero]), digest(&[zero]));
    }
}
