//! Recordings read back to the bit. Files that are cut, damaged or no recordings give errors or all good frames, never
//! wrong ones.

use anachron::internals::base::digest::Digester;
use anachron::internals::base::frame::Frame;
use anachron::internals::base::ids::BodyId;
use anachron::internals::base::state::BodyState;
use anachron::record::{Ending, RecordError, Recording, RecordingWriter, Summary};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use crate::recordings::{DONE, Disk, frame, open, scene, some_frames};

fn record(frames: &[Frame], frames_per_chunk: usize) -> Vec<u8> {
    crate::recordings::record(&scene(), frames, frames_per_chunk)
}

type FrameBits = (u64, u64, u64, Vec<(u32, [u64; 13])>);

/// Frames are compared by bits: `==` would not do for NaN and minus zero.
fn bits(frame: &Frame) -> FrameBits {
    let bodies = frame.bodies.iter().map(|(id, state)| (id.0, state.to_array().map(f64::to_bits)));
    (frame.index, frame.tick, frame.time_s.to_bits(), bodies.collect())
}

/// All frames up to the first error, and that error.
fn read_all(recording: &mut Recording) -> (Vec<Frame>, Option<RecordError>) {
    let (mut frames, mut problem) = (Vec::new(), None);
    for frame in recording.frames() {
        assert!(problem.is_none(), "nothing may follow an error");
        match frame {
            Ok(frame) => frames.push(frame),
            Err(error) => problem = Some(error),
        }
    }
    (frames, problem)
}

fn assert_prefix(read: &[Frame], original: &[Frame]) {
    assert!(read.len() <= original.len());
    for (read, original) in read.iter().zip(original) {
        assert_eq!(bits(read), bits(original));
    }
}

fn any_frame() -> impl Strategy<Value = Frame> {
    // Any bits: all kinds of NaN, both zeros, infinities, subnormals.
    let special = prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), Just(f64::INFINITY)];
    let number = prop_oneof![4 => any::<u64>().prop_map(f64::from_bits), 1 => special];
    let state =
        vec(number, 13).prop_map(|numbers| BodyState::from_array(numbers.try_into().expect("thirteen")));
    let ids = prop_oneof![Just((0..4).collect()), btree_set(any::<u32>(), 0..6)];
    (any::<[u64; 3]>(), ids, vec(state, 6)).prop_map(|([index, tick, time], ids, states)| Frame {
        index,
        tick,
        time_s: f64::from_bits(time),
        bodies: ids.into_iter().map(BodyId).zip(states).collect(),
    })
}

proptest! {
    #[test]
    fn frames_read_back_to_the_bit(frames in vec(any_frame(), 0..90), per_chunk in 1usize..100) {
        let mut recording = open(&record(&frames, per_chunk)).unwrap();
        prop_assert_eq!(recording.len(), frames.len() as u64);
        prop_assert_eq!(recording.summary(), Some(&DONE));
        let (read, problem) = read_all(&mut recording);
        prop_assert!(problem.is_none());
        let all = |frames: &[Frame]| frames.iter().map(bits).collect::<Vec<_>>();
        prop_assert_eq!(all(&read), all(&frames));
        let mut digester = Digester::new();
        frames.iter().for_each(|frame| digester.add(frame));
        prop_assert_eq!(recording.digest().unwrap(), digester.digest());
    }

    #[test]
    fn single_frames_are_read_in_any_order(picks in vec(0u64..200, 1..20), per_chunk in 1usize..80) {
        let frames: Vec<Frame> = (0..200).map(|index| frame(index, &[0, 1, 5])).collect();
        let mut recording = open(&record(&frames, per_chunk)).unwrap();
        for pick in picks {
            prop_assert_eq!(bits(&recording.frame(pick).unwrap()), bits(&frames[pick as usize]));
        }
    }

    #[test]
    fn scenes_read_back_to_the_bit(position in any::<[i64; 3]>(), seed in any::<u64>()) {
        let mut scene = scene();
        // At most 3000 metres away, with all digits in use.
        scene.bodies[1].position = position.map(|n| n as f64 / 3e15);
        scene.seed = seed;
        let disk = Disk::with_capacity(usize::MAX);
        drop(disk.recorder(&scene).unwrap());
        let recording = open(&disk.bytes()).unwrap();
        prop_assert_eq!(recording.scene(), &scene);
    }

    #[test]
    fn any_bytes_are_rejected(bytes in vec(any::<u8>(), 0..2000), with_start in any::<bool>()) {
        let start = if with_start { record(&[], 1)[..12].to_vec() } else { Vec::new() };
        prop_assert!(open(&[start, bytes].concat()).is_err());
    }

    #[test]
    fn anything_behind_the_end_is_noticed(tail in vec(any::<u8>(), 1..500)) {
        let frames = some_frames();
        let mut recording = open(&[record(&frames, 4), tail].concat()).unwrap();
        prop_assert!(!recording.is_complete());
        let (read, problem) = read_all(&mut recording);
        prop_assert_eq!(read.len(), frames.len());
        prop_assert!(problem.is_some());
    }

    #[test]
    fn bursts_of_damage_are_noticed(at in any::<prop::sample::Index>(), burst in vec(any::<u8>(), 1..50)) {
        let frames = some_frames();
        let original = record(&frames, 2);
        let mut bytes = original.clone();
        for (old, new) in bytes.iter_mut().skip(at.index(original.len())).zip(burst) {
            *old = new;
        }
        prop_assume!(bytes != original);
        if let Ok(mut recording) = open(&bytes) {
            let (read, problem) = read_all(&mut recording);
            assert_prefix(&read, &frames);
            prop_assert!(problem.is_some() || !recording.is_complete());
        }
    }
}

#[test]
fn a_file_cut_anywhere_yields_all_complete_chunks_before_the_cut() {
    let frames = some_frames();
    let disk = Disk::with_capacity(usize::MAX);
    let mut writer = disk.recorder(&scene()).unwrap();
    let header_end = disk.bytes().len();
    let mut ends = vec![header_end];
    for batch in frames.chunks(2) {
        batch.iter().for_each(|frame| writer.write_frame(frame).unwrap());
        writer.flush().unwrap();
        ends.push(disk.bytes().len());
    }
    writer.finish(DONE).unwrap();
    let whole = disk.bytes();
    for cut in 0..whole.len() {
        let opened = open(&whole[..cut]);
        if cut < header_end {
            match opened.err().expect("no scene, no recording") {
                RecordError::NotARecording { .. } => assert_eq!(cut, 0),
                RecordError::NoHeader { length, .. } => assert_eq!(length, cut as u64),
                other => panic!("cut at {cut}: {other}"),
            }
            continue;
        }
        let mut recording = opened.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let chunks = ends.iter().filter(|end| **end <= cut).count() - 1;
        assert_eq!(recording.ending(), &Ending::CutOff { offset: ends[chunks] as u64 }, "cut at {cut}");
        assert!(!recording.is_complete() && recording.summary().is_none());
        let (read, problem) = read_all(&mut recording);
        assert!(problem.is_none(), "cut at {cut}: {problem:?}");
        assert_eq!(read.len(), (chunks * 2).min(frames.len()), "cut at {cut}");
        assert_prefix(&read, &frames);
    }
    assert!(open(&whole).unwrap().is_complete());
}

#[test]
fn every_flipped_bit_is_noticed() {
    let frames = some_frames();
    let mut bytes = record(&frames, 3);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            if let Ok(mut recording) = open(&bytes) {
                let (read, problem) = read_all(&mut recording);
                assert_prefix(&read, &frames);
                match problem.expect("every byte is under a checksum") {
                    RecordError::Damaged { offset, good_frames, .. } => {
                        assert_eq!(good_frames, read.len() as u64, "byte {at}, bit {bit}");
                        assert!(offset <= at as u64, "byte {at}, bit {bit}: blamed {offset}");
                    }
                    other => panic!("byte {at}, bit {bit}: {other}"),
                }
                assert!(recording.frame(read.len() as u64).is_err());
            }
            bytes[at] ^= 1 << bit;
        }
    }
}

#[test]
fn a_killed_run_leaves_what_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.anr");
    let mut writer = RecordingWriter::create(&path, &scene()).unwrap();
    for index in 0..100 {
        writer.write_frame(&frame(index, &[0, 1])).unwrap();
    }
    // Nothing runs after a kill, not even destructors.
    std::mem::forget(writer);
    let mut recording = Recording::open(&path).unwrap();
    assert_eq!(recording.len(), 64, "one full batch");
    assert_eq!(read_all(&mut recording).0.len(), 64);

    // The forgotten writer keeps its lock as long as this process lives, so the next one gets a copy.
    let copy = folder.path().join("copy.anr");
    std::fs::copy(&path, &copy).unwrap();
    let error = RecordingWriter::create(&copy, &scene()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cut off after byte"), "{error}");
    let mut writer = RecordingWriter::replace(&copy, &scene()).unwrap();
    writer.write_frame(&frame(0, &[0, 1])).unwrap();
    drop(writer);
    let recording = Recording::open(&copy).unwrap();
    assert_eq!(recording.len(), 1, "the file was replaced, and dropping the writer flushed");
    assert!(!recording.is_complete());
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_leaves_a_readable_one() {
    let frames = some_frames();
    let disk = Disk::with_capacity(usize::MAX);
    let writer = disk.recorder(&scene()).unwrap();
    let header_end = disk.bytes().len();
    drop(writer);
    for bytes in header_end..record(&frames, 2).len() {
        let disk = Disk::with_capacity(bytes);
        let mut writer = disk.recorder(&scene()).unwrap();
        let mut results = Vec::new();
        for batch in frames.chunks(2) {
            results.extend(batch.iter().map(|frame| writer.write_frame(frame)));
            results.push(writer.flush());
        }
        results.push(writer.finish(DONE).map(drop));
        let error = results.into_iter().find_map(Result::err).expect("the disk is full");
        assert_eq!(error.to_string(), "disk: cannot write the recording: no space left");
        let mut recording = open(&disk.bytes()).unwrap();
        assert!(!recording.is_complete());
        let (read, problem) = read_all(&mut recording);
        assert!(problem.is_none());
        assert_prefix(&read, &frames);
    }
}

#[test]
fn nothing_follows_a_failed_write() {
    let disk = Disk::with_capacity(record(&some_frames()[..2], 2).len());
    let mut writer = disk.recorder(&scene()).unwrap();
    writer.write_frame(&frame(0, &(0..1000).collect::<Vec<_>>())).unwrap();
    assert!(matches!(writer.flush(), Err(RecordError::Io { .. })));
    assert!(matches!(writer.write_frame(&frame(1, &[0])), Err(RecordError::Broken { .. })));
    assert!(matches!(writer.finish(DONE), Err(RecordError::Broken { .. })));
}

#[test]
fn errors_name_the_file_and_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("missing").join("run.anr");
    let error = RecordingWriter::create(&nowhere, &scene()).err().unwrap().to_string();
    assert!(error.contains("run.anr") && error.contains("does not exist; create it first"), "{error}");

    let absent = Recording::open(folder.path().join("absent.anr")).err().unwrap().to_string();
    assert!(absent.contains("absent.anr: cannot open"), "{absent}");
    assert!(Recording::open(folder.path()).is_err());

    let other = open(b"name = \"a scene\"").err().unwrap().to_string();
    assert_eq!(other, "memory: not an anachron recording; `anachron run --record FILE.anr` makes one");

    let mut newer = record(&[], 1);
    newer[8] = 9;
    let newer = open(&newer).err().unwrap().to_string();
    assert!(newer.contains("version 9, but this program reads version 1"), "{newer}");

    let error = open(&record(&some_frames(), 4)).unwrap().frame(9).err().unwrap().to_string();
    assert_eq!(error, "memory: there is no frame 9; the recording has frames 0 to 8");
    let error = open(&record(&[], 4)).unwrap().frame(0).err().unwrap().to_string();
    assert_eq!(error, "memory: there is no frame 0; the recording has no frames");
}

#[test]
fn frames_with_bodies_out_of_order_are_rejected() {
    let disk = Disk::with_capacity(usize::MAX);
    let mut writer = disk.recorder(&scene()).unwrap();
    for ids in [[1, 0], [1, 1]] {
        assert!(matches!(writer.write_frame(&frame(3, &ids)), Err(RecordError::Order { index: 3, .. })));
    }
}

#[test]
fn the_summary_says_whether_the_run_was_interrupted() {
    let disk = Disk::with_capacity(usize::MAX);
    let mut writer = disk.recorder(&scene()).unwrap();
    writer.write_frame(&frame(0, &[0, 1])).unwrap();
    let interrupted = Summary { interrupted: true, ..DONE };
    writer.finish(interrupted).unwrap();
    let recording = open(&disk.bytes()).unwrap();
    assert_eq!(recording.summary(), Some(&interrupted));
    assert!(recording.is_complete());
    assert_eq!(recording.planned_frames(), scene().time_base().frame_count());
    assert!(recording.program().starts_with("anachron "));
}

#[test]
fn resting_bodies_take_few_bytes() {
    let ids: Vec<u32> = (0..2000).collect();
    let resting = |index| Frame { bodies: frame(0, &ids).bodies, ..frame(index, &[]) };
    let frames: Vec<Frame> = (0..128).map(resting).collect();
    let raw = 128 * 2000 * 104;
    let recorded = record(&frames, usize::MAX).len();
    assert!(recorded * 50 < raw, "{recorded} bytes of {raw}");
}
