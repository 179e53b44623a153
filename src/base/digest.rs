//! The digest: one number for everything a run committed, to the bit.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use crate::base::frame::Frame;

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
/// Number of bodies that are hashed at a time. Not tuned.
const BATCH: usize = 32;

/// Computes a [`Digest`] frame by frame.
#[derive(Clone, Default)]
pub struct Digester {
    hash: Xxh3,
}

impl Digester {
    /// An empty digest.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next frame: its number, its tick, and id and state bits of every body.
    pub fn add(&mut self, frame: &Frame) {
        self.hash.update(&frame.index.to_le_bytes());
        self.hash.update(&frame.tick.to_le_bytes());
        let mut bytes = [0u8; BATCH * BODY_BYTES];
        for batch in frame.bodies.chunks(BATCH) {
            for ((id, state), bytes) in batch.iter().zip(bytes.chunks_exact_mut(BODY_BYTES)) {
                bytes[..4].copy_from_slice(&id.0.to_le_bytes());
                for (chunk, number) in bytes[4..].chunks_exact_mut(8).zip(state.to_array()) {
                    chunk.copy_from_slice(&number.to_bits().to_le_bytes());
                }
            }
            self.hash.update(&bytes[..batch.len() * BODY_BYTES]);
        }
    }

    /// The digest of all frames added so far.
    pub fn digest(&self) -> Digest {
        Digest(self.hash.digest128())
    }
}
