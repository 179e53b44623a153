//! `diff` names the first thing in which two recordings differ, and nothing else.

use anachron::internals::base::frame::Frame;
use anachron::internals::base::ids::BodyId;
use anachron::internals::base::state::{BodyState, STATE_FIELDS};
use anachron::record::{DiffReport, Difference, RecordError, diff};
use anachron::scene::Scene;

use crate::recordings::{frame, open, record, scene, some_frames};

/// The two are cut into different chunks: only the frames count.
fn diff_of(a: &[Frame], b: &[Frame]) -> DiffReport {
    let (a, b) = (record(&scene(), a, 2), record(&scene(), b, 5));
    diff(&mut open(&a).unwrap(), &mut open(&b).unwrap()).unwrap()
}

#[test]
fn equal_recordings_have_no_difference() {
    let report = diff_of(&some_frames(), &some_frames());
    assert!(report.is_empty() && report.same_frames());
    assert_eq!(report.to_string(), "memory and memory are equal to the bit: 9 frames");
}

#[test]
fn the_first_frame_body_and_field_that_differ_are_named() {
    let frames = some_frames();
    for (at, body, field) in [(0, 0, 0), (2, 1, 7), (6, 2, 12), (8, 1, 4)] {
        let mut other = frames.clone();
        let mut numbers = other[at].bodies[body].1.to_array();
        let was = numbers[field];
        numbers[field] = was.next_up();
        other[at].bodies[body].1 = BodyState::from_array(numbers);
        // A later difference must not be the one that is named.
        if at < 8 {
            other[8].bodies[0].1.x.x = 99.0;
        }
        let report = diff_of(&frames, &other);
        let first = report.first.clone().expect("they differ");
        let (id, name) = (frames[at].bodies[body].0, (body == 0).then(|| "cue".to_owned()));
        assert_eq!((first.frame, first.bodies_that_differ), (at as u64, 1));
        let values = [was, was.next_up()];
        assert_eq!(first.what, Difference::State { body: id, name, field: STATE_FIELDS[field], values });
    }
}

#[test]
fn the_report_reads_well() {
    let mut other = some_frames();
    other[2].bodies[0].1.v.x = 1.5;
    other[2].bodies[1].1.v.x = 1.5;
    let text = diff_of(&some_frames(), &other[..7]).to_string();
    let expected = "\
a: memory, 9 frames, complete
b: memory, 7 frames, complete
the frames differ, first in frame 2 (tick 8), body 0 \"cue\", v.x
  a: 0.3 (bits 3fd3333333333333)
  b: 1.5 (bits 3ff8000000000000)
  apart: 1.2e0, 10358279142952141 ulps
1 other body differs in this frame";
    assert_eq!(text, expected);
}

#[test]
fn zeros_of_different_sign_differ_and_equal_nans_do_not() {
    let with = |number: f64| {
        let mut frames = some_frames();
        frames[1].bodies[0].1.v.y = number;
        frames
    };
    assert!(diff_of(&with(f64::NAN), &with(f64::NAN)).is_empty());
    let report = diff_of(&with(0.0), &with(-0.0));
    assert!(matches!(report.first.unwrap().what, Difference::State { field: "v.y", .. }));
}

#[test]
fn bodies_that_only_one_recording_has_are_named() {
    let frames = some_frames();
    let mut other = frames.clone();
    other[5] = frame(5, &[0, 1]);
    let missing = |from| Difference::Missing { body: BodyId(7), name: None, from };
    assert_eq!(diff_of(&frames, &other).first.unwrap().what, missing(1));
    assert_eq!(diff_of(&other, &frames).first.unwrap().what, missing(0));
    other[5] = frame(5, &[]);
    assert_eq!(diff_of(&frames, &other).first.unwrap().bodies_that_differ, 3);
}

#[test]
fn ticks_times_and_numbers_of_frames_are_compared() {
    let frames = some_frames();
    let changed = |change: fn(&mut Frame)| {
        let mut other = frames.clone();
        change(&mut other[3]);
        diff_of(&frames, &other).first.unwrap().what
    };
    assert_eq!(changed(|frame| frame.tick += 1), Difference::Tick([12, 13]));
    assert_eq!(changed(|frame| frame.index = 8), Difference::Index([3, 8]));
    assert_eq!(changed(|frame| frame.time_s = 7.0), Difference::Time([0.05, 7.0]));
    let report = diff_of(&frames, &frames[..7]);
    assert_eq!((report.first.is_none(), report.same_frames(), report.frame_counts), (true, false, [9, 7]));
    assert!(report.to_string().contains("the first 7 frames are equal to the bit; only one has more"));
}

#[test]
fn the_first_scene_field_that_differs_is_named() {
    type Change = fn(&mut Scene);
    let table: [(Change, &str, [&str; 2]); 4] = [
        (|scene| scene.bodies[1].position[0] = 3.0, "body[1].position[0]", ["2.2", "3.0"]),
        (|scene| scene.bodies[0].name = None, "body[0].name", ["\"cue\"", "absent"]),
        (|scene| scene.gravity[0] = -0.0, "gravity[0]", ["0.0", "-0.0"]),
        (|scene| scene.response.rounds = 7, "response.rounds", ["4", "7"]),
    ];
    let frames = some_frames();
    for (change, field, [a, b]) in table {
        let mut other = scene();
        change(&mut other);
        let mut recordings =
            [open(&record(&scene(), &frames, 9)).unwrap(), open(&record(&other, &frames, 9)).unwrap()];
        let [one, two] = &mut recordings;
        let report = diff(one, two).unwrap();
        assert_eq!(report.scene.as_ref().map(|scene| scene.field.as_str()), Some(field));
        assert!(!report.is_empty() && report.same_frames());
        let text = report.to_string();
        assert!(text.contains(&format!("first in {field}\n  a: {a}\n  b: {b}")), "{text}");
    }
}

#[test]
fn damage_in_either_recording_is_an_error() {
    let good = record(&scene(), &some_frames(), 3);
    let mut bad = good.clone();
    // The last byte is the end chunk's: all frames are good, and still the file is not.
    *bad.last_mut().unwrap() ^= 1;
    for [a, b] in [[&good, &bad], [&bad, &good]] {
        let result = diff(&mut open(a).unwrap(), &mut open(b).unwrap());
        assert!(matches!(result, Err(RecordError::Damaged { good_frames: 9, .. })));
    }
}
