//! Recordings with right checksums, whatever their content.

use xxhash_rust::xxh3::xxh3_64_with_seed;

pub const HEADER: u32 = 1;
pub const FRAMES: u32 = 2;

/// A file of such chunks: the kind of each, the number of frames that it claims, and its content.
pub fn recording(chunks: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut bytes = b"\x89ANR\r\n\x1a\n\x01\0\0\0".to_vec();
    for (kind, frames, raw) in chunks {
        let offset = bytes.len() as u64;
        let packed = zstd::bulk::compress(raw, 1).unwrap();
        let payload = if packed.len() < raw.len() { &packed } else { *raw };
        let mut head = Vec::new();
        for number in [*kind, *frames, payload.len() as u32, raw.len() as u32] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        head.extend_from_slice(&xxh3_64_with_seed(payload, offset).to_le_bytes());
        head.extend_from_slice(&xxh3_64_with_seed(&head, offset).to_le_bytes());
        bytes.extend(head);
        bytes.extend(payload);
    }
    bytes
}

/// A header that promises seven frames of one body; `more` is put in front of the other fields of its scene.
pub fn header(more: &str) -> Vec<u8> {
    let scene = r#""seconds":0.1,"body":[{"shape":{"sphere":{"radius":1.0}}}]"#;
    format!(r#"{{"program":"forged","planned_ticks":24,"planned_frames":1000000,"scene":{{{more}{scene}}}}}"#)
        .into_bytes()
}

/// A batch of frames of bodies in one place.
pub fn frames(count: u32, bodies: u32) -> Vec<u8> {
    let mut raw = [count.to_le_bytes(), bodies.to_le_bytes()].concat();
    raw.resize(raw.len() + bodies as usize * 4, 0);
    for index in 0..u64::from(count) {
        for number in [index, index, 0] {
            raw.extend_from_slice(&number.to_le_bytes());
        }
    }
    raw.resize(raw.len() + (count * bodies) as usize * 13 * 8, 0);
    raw
}
