//! The inside of a frames chunk: exact bits, arranged so that smooth motion compresses well.
//!
//! ```text
//! per run of frames with the same bodies
//!              number of frames (u32)  number of bodies (u32)
//!              each id less its predecessor less one (u32 each)
//!              index  tick  time_s of each frame (8 bytes each)
//! per field    in the order of STATE_FIELDS: the lowest bytes of all states, then the second, to the eighth
//! ```
//!
//! A number is stored as its distance from the value predicted from the two frames before, computed on the bits as
//! integers: smooth motion leaves almost nothing, and no rounding is involved. Each chunk starts anew, so that it can be
//! read without those before it.

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::state::{BodyState, STATE_FIELDS};

const FIELDS: usize = STATE_FIELDS.len();
/// Raw bytes of a frame, its bodies aside.
pub(super) const FRAME_HEAD_BYTES: usize = 24;

/// Consecutive frames with the same bodies: entry `k * bodies + j` of a column is body `j` in frame `k`.
#[derive(Clone, Copy)]
struct Run {
    frames: usize,
    bodies: usize,
}

/// The most raw bytes a frame can take.
pub(super) fn frame_bytes_max(frame: &Frame) -> usize {
    8 + FRAME_HEAD_BYTES + frame.bodies.len() * (4 + 8 * FIELDS)
}

/// Packs a batch of frames. Bodies must be in ascending id.
pub(super) fn encode(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frames.iter().map(frame_bytes_max).sum());
    let mut runs = Vec::new();
    for group in frames.chunk_by(have_same_bodies) {
        let run = Run { frames: group.len(), bodies: group[0].bodies.len() };
        bytes.extend_from_slice(&(run.frames as u32).to_le_bytes());
        bytes.extend_from_slice(&(run.bodies as u32).to_le_bytes());
        let mut next = 0u32;
        for (id, _) in &group[0].bodies {
            bytes.extend_from_slice(&id.0.wrapping_sub(next).to_le_bytes());
            next = id.0.wrapping_add(1);
        }
        for frame in group {
            for number in [frame.index, frame.tick, frame.time_s.to_bits()] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        runs.push(run);
    }
    let states: Vec<[f64; FIELDS]> =
        frames.iter().flat_map(|frame| &frame.bodies).map(|(_, state)| state.to_array()).collect();
    for field in 0..FIELDS {
        let mut column: Vec<u64> = states.iter().map(|state| reordered(state[field].to_bits())).collect();
        subtract_expected(&mut column, &runs);
        for shift in (0..64).step_by(8) {
            bytes.extend(column.iter().map(|n| (n >> shift) as u8));
        }
    }
    bytes
}

fn have_same_bodies(a: &Frame, b: &Frame) -> bool {
    a.bodies.len() == b.bodies.len() && a.bodies.iter().zip(&b.bodies).all(|(a, b)| a.0 == b.0)
}

/// Unpacks a batch of `count` frames, or returns what is wrong with it.
pub(super) fn decode(bytes: &[u8], count: u32) -> Result<Vec<Frame>, &'static str> {
    const SHORT: &str = "the batch of frames is shorter than it claims";
    let mut input = Input { rest: bytes };
    let (mut runs, mut ids, mut heads) = (Vec::new(), Vec::new(), Vec::new());
    let (mut frame_count, mut state_count) = (0u64, 0u64);
    // Nothing is unpacked before the lengths are known to fit: claims alone must not take memory.
    while frame_count < u64::from(count) {
        let run =
            Run { frames: input.u32().ok_or(SHORT)? as usize, bodies: input.u32().ok_or(SHORT)? as usize };
        ids.push(input.take(run.bodies, 4).ok_or(SHORT)?);
        heads.push(input.take(run.frames, FRAME_HEAD_BYTES).ok_or(SHORT)?);
        frame_count += run.frames as u64;
        state_count += run.frames as u64 * run.bodies as u64;
        runs.push(run);
        if run.frames == 0 {
            return Err("the batch has a run without frames");
        }
    }
    if frame_count != u64::from(count) {
        return Err("the batch does not have the number of frames it claims");
    }
    if state_count.checked_mul(8 * FIELDS as u64) != Some(input.rest.len() as u64) {
        return Err("the batch does not have the number of states it claims");
    }
    let states = decode_states(input.rest, state_count as usize, &runs);
    let mut states = states.into_iter();
    let mut frames = Vec::with_capacity(count as usize);
    for ((run, ids), heads) in runs.iter().zip(ids).zip(heads) {
        let ids = decode_ids(ids)?;
        for head in heads.chunks_exact(FRAME_HEAD_BYTES) {
            let mut head = Input { rest: head };
            let mut number = || head.u64().expect("invariant: a head is three numbers");
            let (index, tick, time_s) = (number(), number(), f64::from_bits(number()));
            let states = states.by_ref().take(run.bodies).map(BodyState::from_array);
            frames.push(Frame { index, tick, time_s, bodies: ids.iter().copied().zip(states).collect() });
        }
    }
    Ok(frames)
}

fn decode_ids(bytes: &[u8]) -> Result<Vec<BodyId>, &'static str> {
    let mut input = Input { rest: bytes };
    let mut ids = Vec::with_capacity(bytes.len() / 4);
    let mut next = 0u64;
    while let Some(gap) = input.u32() {
        let id =
            u32::try_from(next + u64::from(gap)).map_err(|_| "the batch has an id beyond the largest")?;
        ids.push(BodyId(id));
        next = u64::from(id) + 1;
    }
    Ok(ids)
}

fn decode_states(bytes: &[u8], count: usize, runs: &[Run]) -> Vec<[f64; FIELDS]> {
    let mut states = vec![[0.0; FIELDS]; count];
    if count == 0 {
        return states;
    }
    let mut column = vec![0u64; count];
    for (field, planes) in bytes.chunks_exact(8 * count).enumerate() {
        column.fill(0);
        for (byte, plane) in planes.chunks_exact(count).enumerate() {
            for (number, part) in column.iter_mut().zip(plane) {
                *number |= u64::from(*part) << (8 * byte);
            }
        }
        add_expected(&mut column, runs);
        for (state, number) in states.iter_mut().zip(&column) {
            state[field] = f64::from_bits(reordered(*number));
        }
    }
    states
}

/// Maps the bits of floating-point numbers to two's complement integers in the same order; its own inverse.
fn reordered(bits: u64) -> u64 {
    bits ^ (((bits as i64 >> 63) as u64) >> 1)
}

/// Replaces each number by its distance from the expected one; small distances become small numbers.
fn subtract_expected(column: &mut [u64], runs: &[Run]) {
    let mut rest = column;
    for run in runs {
        let (part, after) = rest.split_at_mut(run.frames * run.bodies);
        for frame in (0..run.frames).rev() {
            for at in frame * run.bodies..(frame + 1) * run.bodies {
                let distance = part[at].wrapping_sub(expected(part, at, frame, run.bodies));
                part[at] = (distance << 1) ^ ((distance as i64 >> 63) as u64);
            }
        }
        rest = after;
    }
}

/// The inverse of [`subtract_expected`].
fn add_expected(column: &mut [u64], runs: &[Run]) {
    let mut rest = column;
    for run in runs {
        let (part, after) = rest.split_at_mut(run.frames * run.bodies);
        for frame in 0..run.frames {
            for at in frame * run.bodies..(frame + 1) * run.bodies {
                let distance = (part[at] >> 1) ^ (part[at] & 1).wrapping_neg();
                part[at] = distance.wrapping_add(expected(part, at, frame, run.bodies));
            }
        }
        rest = after;
    }
}

/// Predicts a number from the two values before, on a straight line. A parabola would suit free flight a little better,
/// and every bounce worse.
fn expected(part: &[u64], at: usize, frame: usize, bodies: usize) -> u64 {
    let back = |frames: usize| part[at - frames * bodies];
    match frame {
        0 => 0,
        1 => back(1),
        _ => back(1).wrapping_mul(2).wrapping_sub(back(2)),
    }
}

/// Bytes that are read front to back.
struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count.checked_mul(size)?)?;
        self.rest = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn frame(index: u64, ids: &[u32]) -> Frame {
        let bodies = ids.iter().map(|id| {
            let numbers =
                std::array::from_fn(|field| (index * 13 + field as u64) as f64 / (f64::from(*id) + 3.0));
            (BodyId(*id), BodyState::from_array(numbers))
        });
        Frame { index, tick: index * 4, time_s: index as f64 / 60.0, bodies: bodies.collect() }
    }

    #[test]
    fn bodies_come_and_go() {
        let lists: [&[u32]; 8] =
            [&[0, 1, 2], &[0, 1, 2], &[], &[], &[1, u32::MAX], &[0, 2], &[0, 2], &[u32::MAX - 1, u32::MAX]];
        let frames: Vec<Frame> = (0..).zip(lists).map(|(index, ids)| frame(index, ids)).collect();
        assert_eq!(decode(&encode(&frames), 8).unwrap(), frames);
        assert!(decode(&encode(&frames), 7).is_err());
        assert!(decode(&encode(&frames), 9).is_err());
    }

    #[test]
    fn the_order_of_numbers_is_the_order_of_their_bits() {
        let numbers =
            [f64::NEG_INFINITY, -2.0, -1.0, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 1.0, 2.0, f64::INFINITY];
        for pair in numbers.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|n| reordered(n.to_bits()) as i64);
            assert!(a < b, "{pair:?}");
        }
    }

    #[test]
    fn claims_alone_take_no_memory() {
        // One run of four billion frames of four billion bodies.
        assert!(decode(&[255; 8], u32::MAX).is_err());
        assert!(decode(&[0; 8], 1).is_err());
        // A thousand frames of a thousand bodies, without a single state.
        let mut bytes = [1000u32.to_le_bytes(), 1000u32.to_le_bytes()].concat();
        bytes.resize(8 + 1000 * 4 + 1000 * FRAME_HEAD_BYTES, 0);
        assert!(decode(&bytes, 1000).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read(bytes in vec(any::<u8>(), 0..300), count in 1u32..5) {
            let _ = decode(&bytes, count);
        }

        #[test]
        fn altered_batches_are_refused_or_read(at in 0usize..60, new in any::<u8>(), count in 1u32..5) {
            let frames = [frame(0, &[1, 2]), frame(1, &[1, 2]), frame(2, &[])];
            let mut bytes = encode(&frames);
            bytes[at] = new;
            if let Ok(read) = decode(&bytes, count) {
                prop_assert_eq!(read.len(), count as usize);
                for frame in read {
                    prop_assert!(frame.bodies.is_sorted_by(|a, b| a.0 < b.0));
                }
            }
        }
    }

    #[test]
    fn straight_motion_shrinks_to_a_quarter() {
        let frames: Vec<Frame> = (0..64).map(|index| frame(index, &(0..100).collect::<Vec<_>>())).collect();
        let raw = encode(&frames);
        let packed = zstd::bulk::compress(&raw, 1).unwrap();
        assert!(packed.len() * 4 < raw.len(), "{} of {}", packed.len(), raw.len());
    }
}
