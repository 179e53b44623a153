//! The container: a preamble and checksummed, compressed chunks, whatever their content.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Starts like a PNG, so that transfers that mangle line ends or the eighth bit are noticed at once.
pub(super) const MAGIC: [u8; 8] = *b"\x89ANR\r\n\x1a\n";
/// The version of the format; another number means that old readers must not try.
pub(super) const VERSION: u32 = 1;
/// Bytes of magic and version.
pub(super) const PREAMBLE_BYTES: usize = 12;
/// Bytes of a chunk's head.
pub(super) const HEAD_BYTES: usize = 32;
/// No chunk may claim more than this, compressed or not.
pub(super) const CHUNK_BYTES_MAX: usize = 1 << 30;

/// zstd levels 1 to 3 differ by under 3 % on recordings; 1 is the fastest.
const ZSTD_LEVEL: i32 = 1;
/// A payload may expand to this many times its stored length, on top of [`Kind::free_bytes`]. Bounds the memory
/// a hostile file can take; a writer that would exceed it stores its payload as it is.
const EXPANSION_MAX: usize = 64;

/// Kind of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Header = 1,
    Frames = 2,
    End = 3,
}

impl Kind {
    /// Bytes that a payload may expand to however small it is. The limit for scenes is lower, because parsing expands
    /// them once more. That for frames is higher, because a batch of frames of resting bodies compresses to a few bytes.
    pub fn free_bytes(self) -> usize {
        match self {
            Kind::Header | Kind::End => 4 << 20,
            Kind::Frames => 32 << 20,
        }
    }

    /// Whether a payload of `stored` bytes may claim to expand to `raw` bytes.
    fn may_expand(self, stored: usize, raw: usize) -> bool {
        raw <= CHUNK_BYTES_MAX
            && raw <= self.free_bytes().saturating_add(stored.saturating_mul(EXPANSION_MAX))
    }
}

/// The head of a chunk, checked against its own checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub kind: Kind,
    /// Number of frames inside, so that a reader can count without decompressing.
    pub frames: u32,
    /// Bytes of the payload in the file.
    pub stored: u32,
    /// Bytes of the payload once decompressed.
    pub raw: u32,
    payload_checksum: u64,
}

/// The start of every recording.
pub(super) fn preamble() -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// A whole chunk to be written at `offset`. `raw` is at most [`CHUNK_BYTES_MAX`] long.
pub(super) fn seal(kind: Kind, frames: u32, raw: &[u8], offset: u64) -> std::io::Result<Vec<u8>> {
    debug_assert!(raw.len() <= CHUNK_BYTES_MAX);
    let packed = zstd::bulk::compress(raw, ZSTD_LEVEL)?;
    let shrunk = packed.len() < raw.len() && kind.may_expand(packed.len(), raw.len());
    let payload: &[u8] = if shrunk { &packed } else { raw };
    let head = Head {
        kind,
        frames,
        stored: payload.len() as u32,
        raw: raw.len() as u32,
        payload_checksum: xxh3_64_with_seed(payload, offset),
    };
    let mut bytes = Vec::with_capacity(HEAD_BYTES + payload.len());
    bytes.extend_from_slice(&head.to_bytes(offset));
    bytes.extend_from_slice(payload);
    Ok(bytes)
}

impl Head {
    fn to_bytes(self, offset: u64) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.frames.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.stored.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.raw.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.payload_checksum.to_le_bytes());
        let checksum = xxh3_64_with_seed(&bytes[..24], offset);
        bytes[24..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the head of the chunk at `offset`, or returns what is wrong with it.
    pub fn from_bytes(bytes: &[u8; HEAD_BYTES], offset: u64) -> Result<Head, &'static str> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if long(24) != xxh3_64_with_seed(&bytes[..24], offset) {
            return Err("the checksum of the chunk's head is wrong");
        }
        let kind = match word(0) {
            1 => Kind::Header,
            2 => Kind::Frames,
            3 => Kind::End,
            _ => return Err("the chunk's kind is unknown"),
        };
        let head = Head { kind, frames: word(4), stored: word(8), raw: word(12), payload_checksum: long(16) };
        if !kind.may_expand(head.stored as usize, head.raw as usize) || head.stored > head.raw {
            return Err("the chunk claims an absurd length");
        }
        Ok(head)
    }

    /// Whether the payload that was read after this head is the one that was written.
    pub fn is_intact(&self, payload: &[u8], offset: u64) -> bool {
        self.payload_checksum == xxh3_64_with_seed(payload, offset)
    }

    /// Checks and unpacks the payload that was read after this head.
    pub fn open(&self, payload: Vec<u8>, offset: u64) -> Result<Vec<u8>, &'static str> {
        if !self.is_intact(&payload, offset) {
            return Err("the checksum of the chunk is wrong");
        }
        if self.stored == self.raw {
            return Ok(payload);
        }
        match zstd::bulk::decompress(&payload, self.raw as usize) {
            Ok(raw) if raw.len() == self.raw as usize => Ok(raw),
            _ => Err("the chunk does not decompress to the length it claims"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reopened(sealed: &[u8], offset: u64) -> Result<Vec<u8>, &'static str> {
        let (head, payload) = sealed.split_first_chunk::<HEAD_BYTES>().unwrap();
        Head::from_bytes(head, offset)?.open(payload.to_vec(), offset)
    }

    #[test]
    fn chunks_are_bound_to_their_place() {
        let sealed = seal(Kind::Frames, 7, b"some bytes", 100).unwrap();
        assert_eq!(reopened(&sealed, 100).unwrap(), b"some bytes");
        assert!(reopened(&sealed, 101).is_err());
    }

    #[test]
    fn zeros_that_would_expand_too_far_are_stored_as_they_are() {
        let within = vec![0; Kind::Header.free_bytes()];
        let beyond = vec![0; Kind::Header.free_bytes() * 2];
        let small = seal(Kind::Header, 0, &within, 0).unwrap();
        assert!(small.len() < 10_000);
        assert_eq!(reopened(&small, 0).unwrap(), within);
        let large = seal(Kind::Header, 0, &beyond, 0).unwrap();
        assert_eq!(large.len(), HEAD_BYTES + beyond.len());
        assert_eq!(reopened(&large, 0).unwrap(), beyond);
    }

    #[test]
    fn a_small_chunk_cannot_claim_much_memory() {
        let bomb = zstd::bulk::compress(&vec![0; 64 << 20], ZSTD_LEVEL).unwrap();
        let honest = Head {
            kind: Kind::Header,
            frames: 0,
            stored: bomb.len() as u32,
            raw: 64 << 20,
            payload_checksum: xxh3_64_with_seed(&bomb, 0),
        };
        assert!(Head::from_bytes(&honest.to_bytes(0), 0).is_err());
        // The claimed length bounds what is unpacked.
        let liar = Head { raw: 4 << 20, ..honest };
        let head = Head::from_bytes(&liar.to_bytes(0), 0).unwrap();
        assert!(head.open(bomb, 0).is_err());
    }
}
