//! Limits: what is too much is an error with the number and the fix, before it takes memory or time.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use crate::forged;
use crate::program::{Ended, Sandbox};
use crate::running::Running;

/// The program under a limit of its addresses. Every thread asks for `stack_mib` of them.
fn limited(sandbox: &Sandbox, addresses_mib: u64, stack_mib: u64, arguments: &[&str]) -> Ended {
    let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", addresses_mib << 10);
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_anachron")]).args(arguments);
    command.current_dir(sandbox.path("")).env("RUST_MIN_STACK", (stack_mib << 20).to_string());
    command.env("RAYON_NUM_THREADS", "2");
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())).wait()
}

#[test]
fn a_thread_that_cannot_be_had_is_an_error() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["run", "gas", "--bodies", "300", "--cores", "2", "--seconds", "0.01"][..],
        &["run", "gas", "--bodies", "1100", "--cores", "2", "--seconds", "0.01"],
        &["run", "chain-net", "--sync", "overlap", "--workers", "2", "--cores", "2", "--seconds", "0.01"],
        &["run", "stack", "--sync", "sequential", "--seconds", "0.1", "--record", "a.anr", "--force"],
        &["render", "stack", "--seconds", "0.1", "--size", "32x32", "--out", "a.png"],
        &["verify", "--random", "1", "--schedules", "2"],
    ] {
        // From no thread at all to all of them, one by one: every thread is once the first that is refused.
        let mut refused = 0;
        let mut gib = 0;
        let last = loop {
            let ended = limited(&sandbox, (gib << 10) + 512, 1 << 10, arguments);
            if ended.code != Some(1) || gib > 40 {
                break ended;
            }
            let signals = ended.stderr.contains("error: cannot watch for signals such as Ctrl-C: ");
            let recorder = ended.stderr.contains("error: --record: there is no thread to write with: ");
            let pool = ended.stderr.contains("error: no thread could be started: ")
                && ended.stderr.contains("; close other programs or use fewer cores");
            assert!(signals || recorder || pool, "{ended:?}");
            refused += u32::from(recorder || pool);
            gib += 1;
        };
        assert_eq!(last.code, Some(0), "{last:?}");
        assert!(refused > 0, "{arguments:?}");
    }
}

/// The program under a limit of what it may take.
fn within(mib: u64, sandbox: &Sandbox, arguments: &[&str]) -> Ended {
    limited(sandbox, mib, 2, arguments)
}

#[track_caller]
fn assert_refused(ended: &Ended, message: &str) {
    assert!(ended.code == Some(2) && ended.stderr.contains(message), "{message}: {ended:?}");
}

/// A list of so many zeros, written.
fn zeros(count: usize) -> String {
    let mut text = "0,".repeat(count);
    text.pop();
    text
}

#[test]
fn texts_that_describe_more_than_memory_holds_are_refused_while_they_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("long.toml", "#".repeat((16 << 20) + 1));
    sandbox.write("keys.toml", "[[body]]\n".repeat(1_200_000));
    sandbox.write("list.json", format!(r#"{{"part":[{{"bodies":[{}]}}]}}"#, zeros(45_000_000)));
    let too_long = "is larger than 16 MiB; write it as JSON, which may have 256 MiB";
    assert_refused(&within(1 << 10, &sandbox, &["check", "long.toml"]), too_long);
    let keys = "scene: has some 1200000 keys and tables, and TOML may have 1048576; write it as JSON";
    assert_refused(&within(1 << 10, &sandbox, &["check", "keys.toml"]), keys);
    let list = "list.json: part[0].bodies: takes the scene beyond 1024 MiB of memory (line 1); make the scene smaller";
    assert_refused(&within(6 << 10, &sandbox, &["check", "list.json"]), list);
}

#[test]
fn the_header_of_a_recording_is_counted_while_it_is_read() {
    let sandbox = Sandbox::new();
    // Hardly packs, and so allows the rest to unpack to a lot.
    let digits: String =
        (0..400_000u64).map(|n| format!("{:08x}", n.wrapping_mul(0x9e37_79b9) as u32)).collect();
    let more = format!(r#""name":"{digits}","part":[{{"bodies":[{}]}}],"#, zeros(45_000_000));
    sandbox.write("a.anr", forged::recording(&[(forged::HEADER, 0, &forged::header(&more))]));
    assert!(sandbox.read("a.anr").len() < 4 << 20);
    for verb in [&["check", "a.anr"][..], &["info", "a.anr"], &["export", "a.anr", "--out", "a.csv"]] {
        let ended = within(6 << 10, &sandbox, verb);
        assert_refused(
            &ended,
            "damaged at byte 12: the header cannot be read: takes the scene beyond 1024 MiB of memory",
        );
    }
    // A few bytes that claim to be a gibibyte.
    let zeros = vec![0; 1 << 30];
    sandbox.write("a.anr", forged::recording(&[(forged::HEADER, 0, &zeros)]));
    assert_refused(&within(1 << 10, &sandbox, &["check", "a.anr"]), "the chunk claims an absurd length");
}

#[test]
fn an_export_stops_at_what_the_header_promises() {
    let sandbox = Sandbox::new();
    let header = forged::header("");
    let file = |chunks: &[(u32, Vec<u8>)]| {
        let mut all = vec![(forged::HEADER, 0, header.as_slice())];
        all.extend(chunks.iter().map(|(count, raw)| (forged::FRAMES, *count, raw.as_slice())));
        sandbox.write("a.anr", forged::recording(&all));
    };
    let good = (5, forged::frames(5, 1));
    file(&[good.clone(), (200_000, forged::frames(200_000, 1))]);
    let rows = || String::from_utf8(sandbox.read("a.csv")).unwrap().lines().count();
    let ended = within(1 << 10, &sandbox, &["export", "a.anr", "--out", "a.csv"]);
    let beyond = "a.anr: frame 7 is beyond the 7 frames that the recording's header promises; 7 frames before it are good";
    assert_refused(&ended, beyond);
    assert_eq!(rows(), 1 + 7);
    file(&[good.clone(), (1, forged::frames(1, 200_000)), good]);
    let ended = within(1 << 10, &sandbox, &["export", "a.anr", "--out", "a.csv"]);
    assert_refused(
        &ended,
        "a.anr: frame 5 has 200,000 bodies, more than the 1 that the recording's header promises",
    );
    assert_eq!(rows(), 1 + 5);
    // Batches of more than a writer makes take memory, and are refused before they do.
    file(&[(2, forged::frames(2, 400_000))]);
    let ended = within(1 << 10, &sandbox, &["export", "a.anr", "--out", "a.csv"]);
    assert_refused(&ended, "the chunk claims an absurd length");
}

/// A scene of balls without gravity, from the position and velocity of each.
fn balls(count: usize, radius_m: f64, ball: impl Fn(f64) -> ([f64; 3], [f64; 3])) -> String {
    let bodies: Vec<String> = (0..count)
        .map(|at| {
            let (position, velocity) = ball(at as f64 + 0.5);
            format!(r#"{{"shape":{{"sphere":{{"radius":{radius_m}}}}},"position":{position:?},"velocity":{velocity:?}}}"#)
        })
        .collect();
    let bodies = bodies.join(",");
    format!(r#"{{"seconds":0.2,"gravity":[0,0,0],"ticks_per_second":100,"body":[{bodies}]}}"#)
}

#[test]
fn bodies_that_start_in_one_place_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", balls(5_000, 0.1, |_| ([0.0, 5.0, 0.0], [0.0; 3])));
    let message = "body: at the start body 0, body 1, body 2 and others are in one place: 1320001 pairs touch, and \
                   there are more; move them apart, make them smaller, or use fewer";
    for sync in ["sequential", "lockstep", "timewarp", "loop", "chaos", "rollback-check", "overlap"] {
        assert_refused(&within(4 << 10, &sandbox, &["run", "a.json", "--sync", sync]), message);
    }
    assert_refused(&within(4 << 10, &sandbox, &["run", "a.json", "--bridge", "auto"]), message);
    assert_refused(&within(4 << 10, &sandbox, &["check", "a.json"]), message);
    // As many bodies side by side are fine, and so are fewer in one place.
    sandbox.write("a.json", balls(5_000, 0.1, |at| ([at, 0.0, 0.0], [0.0; 3])));
    sandbox.good(&["check", "a.json"]);
    sandbox.write("a.json", balls(1_000, 0.1, |_| ([0.0; 3], [0.0; 3])));
    sandbox.good(&["check", "a.json"]);
}

#[test]
fn bodies_that_meet_in_one_place_end_the_run() {
    let sandbox = Sandbox::new();
    const BALLS: usize = 4_200;
    // From a sphere to its centre, where all of them are at tick 10.
    let inwards = |at: f64| {
        let y = 1.0 - 2.0 * at / BALLS as f64;
        let (sin, cos) = libm::sincos(at * 2.4);
        let out = [(1.0 - y * y).sqrt() * cos, y, (1.0 - y * y).sqrt() * sin];
        (out, out.map(|part| -10.0 * part))
    };
    sandbox.write("a.json", balls(BALLS, 0.001, inwards));
    for options in [
        &["--sync", "sequential"][..],
        &["--sync", "sequential", "--bridge", "auto"],
        &["--sync", "lockstep", "--gear", "near", "--cores", "2"],
        &["--sync", "lockstep", "--gear", "calendar"],
        &["--sync", "timewarp", "--cores", "2"],
        &["--regions", "bodies", "--cores", "2"],
        &["--sync", "loop"],
        &["--sync", "overlap", "--workers", "1"],
        &["--sync", "overlap", "--workers", "2"],
    ] {
        let ended = within(6 << 10, &sandbox, &[&["run", "a.json"], options].concat());
        let told = [
            "error: at tick 10 body ",
            " and others are in one place: 12",
            " pairs touch, and there are more",
        ];
        let is_right = ended.code == Some(1) && told.iter().all(|part| ended.stderr.contains(part));
        assert!(is_right, "{ended:?}");
    }
}

/// The memory of near pairs has a limit of its own: so many balls that meet would have two hundred million.
#[test]
fn very_many_bodies_that_meet_take_no_more_memory() {
    let sandbox = Sandbox::new();
    let inwards = |at: f64| {
        let (sin, cos) = libm::sincos(at * 2.4);
        ([cos, at * 1e-4 - 1.0, sin], [-25.0 * cos, 25.0 - at * 2.5e-3, -25.0 * sin])
    };
    sandbox.write("a.json", balls(20_000, 0.001, inwards));
    let ended = within(5 << 10, &sandbox, &["run", "a.json", "--cores", "2"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains(" and others are in one place: 22"), "{ended:?}");
}

#[test]
fn cores_buckets_and_bodies_have_limits() {
    let sandbox = Sandbox::new();
    let run = |options: &[&str]| {
        within(2 << 10, &sandbox, &[&["run", "stack", "--seconds", "0.02", "--quiet"], options].concat())
    };
    let cores = run(&["--cores", "100000"]);
    assert_refused(&cores, "cores: 100000 were asked for, and this machine has ");
    assert_refused(&cores, "; use `--cores 1` to `--cores ");
    let buckets =
        "buckets: 65537 actors were asked for; use `--buckets` of at most 65536, or `--tvht shared`";
    assert_refused(&run(&["--regions", "bodies", "--tvht", "actors", "--buckets", "65537"]), buckets);
    for good in [
        &["--cores", "4"][..],
        &["--regions", "bodies", "--tvht", "actors", "--buckets", "65536"],
        &["--regions", "bodies", "--buckets", "65537"],
    ] {
        assert_eq!(run(good).code, Some(0), "{good:?}");
    }
    let bodies = ["--regions", "bodies"];
    let many =
        ["run", "gas", "--bodies", "600000", "--seconds", "0.01", "--cores", "2", bodies[0], bodies[1]];
    let ended = within(1536, &sandbox, &many);
    assert_refused(&ended, "body: 600000 bodies take about ");
    assert_refused(&ended, " of memory with `--sync timewarp`, and ");
    // Arrays of every region have room for all bodies.
    let gas = |more: &[&str]| {
        let run = ["run", "gas", "--bodies", "100000", "--seconds", "0.01", "--cores", "2", "--quiet"];
        within(900, &sandbox, &[&run, more].concat())
    };
    let ended = gas(&["--regions", "64"]);
    assert_refused(&ended, "body: 100000 bodies take about 1");
    assert_refused(&ended, "; use fewer regions (`--regions N`), or fewer bodies");
    assert_eq!(gas(&[]).code, Some(0));
}
