//! `render`: the files are real pictures and show what was asked for. Whether they are pretty is not tested.

use std::fs::File;
use std::io::BufReader;

use crate::program::Sandbox;

/// Width, height and pixels of a PNG file.
fn png_of(sandbox: &Sandbox, name: &str) -> (u32, u32, Vec<u8>) {
    let file = BufReader::new(File::open(sandbox.path(name)).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width, info.height, pixels)
}

#[test]
fn a_recording_and_its_scenario_give_the_same_picture() {
    let sandbox = Sandbox::new();
    let asked = ["--bodies", "5", "--seconds", "1"];
    sandbox.good(&[&["run", "stack", "--record", "a.anr"], &asked[..]].concat());
    sandbox.write("a.toml", sandbox.good(&[&["scene", "stack"], &asked[..]].concat()));
    let size = ["--size", "96x54"];
    sandbox.good(&[&["render", "a.anr", "--frame", "30", "--out", "recorded.png"], &size[..]].concat());
    sandbox.good(&[&["render", "a.toml", "--frame", "30", "--out", "file.png"], &size[..]].concat());
    let live = ["render", "stack", "--frame", "30", "--out", "live.png"];
    sandbox.good(&[&live[..], &size, &asked].concat());
    let picture = png_of(&sandbox, "recorded.png");
    assert_eq!((picture.0, picture.1, picture.2.len()), (96, 54, 96 * 54 * 3));
    assert!(picture.2.iter().any(|byte| *byte != picture.2[0]), "there is something to see");
    assert_eq!(png_of(&sandbox, "live.png"), picture);
    assert_eq!(png_of(&sandbox, "file.png"), picture);
    assert_eq!(sandbox.files(), ["a.anr", "a.toml", "file.png", "live.png", "recorded.png"]);
}

#[test]
fn frame_camera_and_colour_change_the_picture() {
    let sandbox = Sandbox::new();
    sandbox.good(&["run", "billiards", "--seconds", "1", "--record", "a.anr", "--quiet"]);
    let taken = |name: &str, more: &[&str]| {
        let ended = sandbox.run(&[&["render", "a.anr", "--size", "96x54", "--out", name], more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        (png_of(&sandbox, name), ended.stderr)
    };
    let (last, told) = taken("last.png", &[]);
    assert!(told.contains("last.png: frame 60 (1.000 s), 96x54"), "{told}");
    assert_eq!(taken("last2.png", &["--frame", "60"]).0, last);
    assert_ne!(taken("first.png", &["--frame", "0"]).0, last);
    assert_ne!(taken("near.png", &["--camera", "eye=1,1,1;target=0,0,0;fov=50"]).0, last);
    assert_ne!(taken("speed.png", &["--color", "speed"]).0, last);
}

#[test]
fn an_animation_shows_every_nth_frame() {
    let sandbox = Sandbox::new();
    sandbox.good(&["run", "stack", "--bodies", "3", "--seconds", "1", "--record", "a.anr", "--quiet"]);
    // Frames are 60 per second, and viewers show 50: every second one, for 3 or 4 hundredths.
    let table: &[(&[&str], usize, u16)] = &[
        (&[], 31, 3),
        (&["--every", "20"], 4, 33),
        (&["--every", "20", "--frame", "21"], 2, 33),
        (&["--every", "20", "--fps", "10"], 4, 10),
        (&["--fps", "10"], 31, 10),
    ];
    for (more, pictures, delay) in table {
        sandbox.good(&[&["render", "a.anr", "--size", "48x27", "--out", "a.gif"], *more].concat());
        let mut reader = gif::Decoder::new(File::open(sandbox.path("a.gif")).unwrap()).unwrap();
        assert_eq!((reader.width(), reader.height()), (48, 27));
        let mut delays = Vec::new();
        while let Some(frame) = reader.read_next_frame().unwrap() {
            delays.push(frame.delay);
        }
        assert_eq!((delays.len(), delays[0]), (*pictures, *delay), "{more:?}: {delays:?}");
    }
}
