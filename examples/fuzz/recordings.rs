//! Damaged recordings, and forged ones: with wrong content under right checksums.

use std::fs;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::dice::Dice;
use crate::mutate;
use crate::program::{Finding, Program, read_text};
use crate::scenes::write;

/// Magic and version.
const PREAMBLE_BYTES: usize = 12;
const HEAD_BYTES: usize = 32;
const KIND_HEADER: u32 = 1;

/// A good recording and what it is exported to.
pub struct Original {
    bytes: Vec<u8>,
    csv: String,
}

/// A chunk with its payload unpacked.
#[derive(Clone)]
struct Chunk {
    kind: u32,
    frames: u32,
    raw: Vec<u8>,
}

pub fn originals(program: &mut Program) -> Result<Vec<Original>, Finding> {
    let mut originals = Vec::new();
    for scene in [
        &["stack", "--bodies", "3", "--seconds", "2"][..],
        &["cylinders", "--bodies", "20", "--seconds", "0.5"],
        &["chain-net", "--bodies", "8", "--seconds", "0.2"],
        &["parallel", "--bodies", "1", "--seconds", "0"],
    ] {
        // Not every scenario has a run of no length.
        let path = program.folder.join("original.anr");
        let recorded =
            program.run(&[&["run"], scene, &["--record", "original.anr", "--quiet"]].concat(), &[0, 2])?;
        if recorded.code() != Some(0) {
            continue;
        }
        program.run(&["export", "original.anr", "--out", "original.csv"], &[0])?;
        let csv = read_text(&program.folder.join("original.csv"));
        originals.push(Original { bytes: fs::read(&path).map_err(|error| error.to_string())?, csv });
        let _ = fs::remove_file(path);
    }
    Ok(originals)
}

/// A few bytes are changed: whatever can still be exported is what was recorded.
pub fn damaged(
    dice: &mut Dice,
    program: &mut Program,
    originals: &[Original],
) -> Result<&'static str, Finding> {
    let original = dice.pick(originals);
    let mut bytes = original.bytes.clone();
    for _ in 0..1 + dice.below(3) {
        mutate::bytes(dice, &mut bytes);
    }
    write(&program.folder.join("a.anr"), &bytes)?;
    let done = program.run(&["export", "a.anr", "--out", "a.csv"], &[0, 2])?;
    let csv = read_text(&program.folder.join("a.csv"));
    if !original.csv.starts_with(&csv) {
        return Err("the rows of a damaged recording are not those that were recorded".to_owned());
    }
    look(dice, program, original)?;
    Ok(if done.code() == Some(0) { "read" } else { "rejected" })
}

/// The content is changed, the checksums are right.
pub fn forged(
    dice: &mut Dice,
    program: &mut Program,
    originals: &[Original],
) -> Result<&'static str, Finding> {
    let original = dice.pick(originals);
    let mut chunks =
        unpack(&original.bytes).ok_or("a good recording does not have the format that is documented")?;
    for _ in 0..1 + dice.below(3) {
        forge(dice, &mut chunks);
    }
    write(&program.folder.join("a.anr"), &pack(dice, &original.bytes[..PREAMBLE_BYTES], &chunks))?;
    let done = program.run(&["export", "a.anr", "--out", "a.csv"], &[0, 2])?;
    look(dice, program, original)?;
    Ok(if done.code() == Some(0) { "read" } else { "rejected" })
}

/// Uses the recording in two more ways.
fn look(dice: &mut Dice, program: &mut Program, original: &Original) -> Result<(), Finding> {
    write(&program.folder.join("good.anr"), &original.bytes)?;
    let frame = dice.below(40).to_string();
    let ways: [&[&str]; 7] = [
        &["export", "a.anr", "--out", "a.glb", "--every", "3"],
        &["render", "a.anr", "--frame", &frame, "--size", "64x36", "--out", "a.png"],
        &["diff", "a.anr", "good.anr"],
        &["scene", "a.anr"],
        &["check", "a.anr"],
        &["info", "a.anr"],
        &["run", "a.anr", "--seconds", "0.02", "--quiet"],
    ];
    for _ in 0..2 {
        program.run(ways[dice.below(ways.len())], &[0, 1, 2])?;
    }
    Ok(())
}

fn forge(dice: &mut Dice, chunks: &mut Vec<Chunk>) {
    let at = dice.below(chunks.len());
    match dice.below(8) {
        0 => {
            let copy = dice.pick(chunks).clone();
            chunks.insert(at, copy);
        }
        1 => chunks.truncate(at.max(1)),
        2 => {
            let other = dice.below(chunks.len());
            chunks.swap(at, other);
        }
        3 => chunks[at].frames = *dice.pick(&[0, 1, 2, 63, 64, 65, 1 << 20, u32::MAX]),
        4 => chunks[at].kind = dice.below(5) as u32,
        5 => {
            // Numbers at the front say how much there is.
            let word = 4 * dice.below(8);
            let new = dice.pick(&[0u32, 1, 2, 3, 1 << 16, 1 << 31, u32::MAX]).to_le_bytes();
            if let Some(bytes) = chunks[at].raw.get_mut(word..word + 4) {
                bytes.copy_from_slice(&new);
            }
        }
        6 => mutate::bytes(dice, &mut chunks[at].raw),
        _ => {
            let header = &mut chunks[0].raw;
            if let Ok(mut root) = serde_json::from_slice::<Value>(header) {
                mutate::tree(dice, &mut root);
                *header = root.to_string().into_bytes();
            }
        }
    }
}

fn unpack(bytes: &[u8]) -> Option<Vec<Chunk>> {
    let mut rest = bytes.get(PREAMBLE_BYTES..)?;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let word = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let (kind, frames, stored, full) = (word(0)?, word(4)?, word(8)? as usize, word(12)? as usize);
        let payload = rest.get(HEAD_BYTES..HEAD_BYTES + stored)?;
        let raw =
            if stored == full { payload.to_vec() } else { zstd::bulk::decompress(payload, full).ok()? };
        chunks.push(Chunk { kind, frames, raw });
        rest = &rest[HEAD_BYTES + stored..];
    }
    chunks.first().is_some_and(|first| first.kind == KIND_HEADER).then_some(chunks)
}

/// A file with right checksums. Now and then the lengths lie.
fn pack(dice: &mut Dice, preamble: &[u8], chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = preamble.to_vec();
    for chunk in chunks {
        let offset = bytes.len() as u64;
        let packed = zstd::bulk::compress(&chunk.raw, 1).unwrap_or_default();
        let payload = if packed.len() < chunk.raw.len() { packed } else { chunk.raw.clone() };
        let lie = |dice: &mut Dice, length: usize| match dice.below(60) {
            0 => dice.next() as u32,
            1 => length as u32 + 1,
            2 => 1 << 30,
            _ => length as u32,
        };
        let mut head = Vec::new();
        let lengths = [lie(dice, payload.len()), lie(dice, chunk.raw.len())];
        for number in [chunk.kind, chunk.frames, lengths[0], lengths[1]] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        head.extend_from_slice(&xxh3_64_with_seed(&payload, offset).to_le_bytes());
        head.extend_from_slice(&xxh3_64_with_seed(&head, offset).to_le_bytes());
        bytes.extend(head);
        bytes.extend(payload);
    }
    bytes
}
