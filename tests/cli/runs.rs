//! `run`, `list`, `scene` and `check`.

use anachron::scenarios::{self, SCENARIOS};
use anachron::{Simulation, SyncMode};
use serde_json::Value;

use crate::program::Sandbox;

#[test]
fn json_is_one_object_on_one_line() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["run", "stack", "--bodies", "3", "--seconds", "0.5", "--seed", "7", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.lines().count(), 1);
    let object: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(object["scenario"], "stack");
    assert_eq!(object["bodies"], 3);
    assert_eq!(object["seed"], 7);
    assert_eq!(object["seconds"], 0.5);
    assert_eq!(object["ticks_per_second"], 240.0);
    assert_eq!(object["ticks"], 120);
    assert_eq!(object["frames"], 31);
    assert_eq!(object["sync"], "timewarp");
    assert!(object["cores"].as_u64() >= Some(1));
    assert_eq!(object["interrupted"], false);
    assert_eq!(object["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(object["contacts"], 3);
    let digest = object["digest"].as_str().unwrap();
    assert!(digest.len() == 32 && digest.chars().all(|c| c.is_ascii_hexdigit()), "{digest}");
    assert!(object["wall_s"].as_f64().unwrap() > 0.0);
    assert!(object["energy_start"].as_f64().unwrap() > 0.0);
    if cfg!(target_os = "linux") {
        assert!(object["cpu_s"].as_f64().unwrap() > 0.0);
        let [start, peak] = ["start_rss_bytes", "peak_rss_bytes"].map(|key| object[key].as_u64().unwrap());
        assert!(start > 1 << 18 && peak > 1 << 20 && start < peak, "{start} {peak}");
        let of_body = object["rss_bytes_per_body"].as_f64().unwrap();
        assert!((of_body * 3.0 - (peak - start) as f64).abs() < 1.0, "{of_body}");
    }
}

#[test]
fn the_summary_is_the_result_and_makes_room_for_json() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["run", "stack", "--seconds", "0.1"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let digest = sandbox.digest(&["run", "stack", "--seconds", "0.1"]);
    let open_system = "drift, by gravity and static geometry";
    for part in ["stack: 10 bodies", "contacts", "overlap", "energy", open_system, "body-ticks/s", &digest] {
        assert!(ended.stdout.contains(part), "{part} is missing in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains(['\r', '\u{1b}']), "no progress bar without a terminal: {ended:?}");
    let json = sandbox.run(&["run", "stack", "--seconds", "0.1", "--json"]);
    assert_eq!(json.stdout.lines().count(), 1, "{json:?}");
    assert!(json.stderr.contains("stack: 10 bodies"), "{json:?}");
    let quiet = sandbox.run(&["run", "stack", "--seconds", "0.1", "--quiet"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn only_closed_systems_must_keep_their_momentum() {
    let sandbox = Sandbox::new();
    let cause =
        |scenario| sandbox.json(&["run", scenario, "--seconds", "0.1"])["momentum_changed_by"].clone();
    assert_eq!(cause("parallel"), Value::Null);
    assert_eq!(cause("gas"), "static geometry");
    assert_eq!(cause("stack"), "gravity and static geometry");
}

#[test]
fn the_default_scenario_needs_no_arguments() {
    let sandbox = Sandbox::new();
    let object = sandbox.json(&["run", "--seconds", "0.1"]);
    assert_eq!(object["scenario"], scenarios::DEFAULT);
    assert_eq!(object["bodies"], scenarios::find(scenarios::DEFAULT).unwrap().bodies);
}

#[test]
fn every_executor_has_the_same_digest() {
    let sandbox = Sandbox::new();
    let plain = sandbox.digest(&["run", "bowl", "--bodies", "60", "--seconds", "1"]);
    for (name, _) in SyncMode::same_result() {
        for cores in ["1", "2"] {
            let other = ["run", "bowl", "--bodies", "60", "--seconds", "1", "--sync", name, "--cores", cores];
            assert_eq!(sandbox.digest(&other), plain, "{name} on {cores}");
        }
    }
    let recorded = ["run", "bowl", "--bodies", "60", "--seconds", "1", "--record", "bowl.anr"];
    assert_eq!(sandbox.digest(&recorded), plain);
    let other_seed = ["run", "bowl", "--bodies", "60", "--seconds", "1", "--seed", "43"];
    assert_ne!(sandbox.digest(&other_seed), plain);
    let other_field = ["run", "bowl", "--bodies", "60", "--seconds", "1", "--set", "gravity[1]=-9.8"];
    assert_ne!(sandbox.digest(&other_field), plain);
}

#[test]
fn the_command_line_has_the_defaults_of_the_library() {
    let sandbox = Sandbox::new();
    for (scenario, bodies, sync) in [
        ("gas", 255, SyncMode::Timewarp),
        ("gas", 256, SyncMode::Timewarp),
        ("bridge", 61, SyncMode::Overlap),
    ] {
        let request = scenarios::Request { bodies: Some(bodies), ..scenarios::Request::default() };
        let scene = scenarios::build(scenario, &request).unwrap();
        assert_eq!(SyncMode::for_scene(&scene), sync);
        let cores = Simulation::new(&scene).unwrap().cores_used();
        assert!(cores == 1 || bodies != 255, "{cores} cores for a small scene");
        let object = sandbox.json(&["run", scenario, "--bodies", &bodies.to_string(), "--seconds", "0.01"]);
        assert_eq!(object["sync"], sync.name());
        assert_eq!(object["cores"], cores, "{scenario} {bodies}");
    }
}

#[test]
fn a_printed_scene_runs_to_the_digest_of_its_scenario() {
    let sandbox = Sandbox::new();
    for scenario in SCENARIOS {
        let name = scenario.name;
        let asked = ["--bodies", "27", "--seconds", "0.3", "--seed", "18446744073709551615"];
        let digest = sandbox.digest(&[&["run", name], &asked[..]].concat());
        let toml = sandbox.good(&[&["scene", name], &asked[..]].concat());
        sandbox.write("printed.toml", &toml);
        assert_eq!(sandbox.digest(&["run", "printed.toml"]), digest, "{name} as TOML");
        let json = sandbox.good(&[&["scene", name, "--json"], &asked[..]].concat());
        serde_json::from_str::<Value>(&json).unwrap();
        sandbox.write("printed.json", &json);
        assert_eq!(sandbox.digest(&["run", "printed.json"]), digest, "{name} as JSON");
        assert_eq!(sandbox.good(&["scene", "printed.json"]), toml, "{name} from JSON to TOML");
    }
}

#[test]
fn options_change_a_scene_file() {
    let sandbox = Sandbox::new();
    sandbox.write("tower.toml", sandbox.good(&["scene", "stack", "--bodies", "4"]));
    let object = sandbox.json(&["run", "tower.toml", "--seconds", "0.2", "--set", "ticks_per_second=120"]);
    assert_eq!((&object["seconds"], &object["ticks"]), (&Value::from(0.2), &Value::from(24)));
    let named = sandbox.json(&["run", "tower.toml", "--seconds", "0.2", "--set", "name=moon"]);
    assert_eq!(named["scenario"], "moon");
}

#[test]
fn all_scenarios_are_listed() {
    let sandbox = Sandbox::new();
    let table = sandbox.good(&["list"]);
    let object: Value = serde_json::from_str(&sandbox.good(&["list", "--json"])).unwrap();
    let list = object["scenarios"].as_array().unwrap();
    assert_eq!(list.len(), SCENARIOS.len());
    for (scenario, listed) in SCENARIOS.iter().zip(list) {
        assert_eq!(listed["name"], scenario.name);
        assert_eq!(listed["summary"], scenario.summary);
        assert_eq!(listed["bodies"], scenario.bodies);
        assert_eq!(listed["seconds"], scenario.seconds);
        assert_eq!(listed["parameters"].as_array().unwrap().len(), scenario.parameters.len());
        let row = table.lines().find(|line| line.trim_start().starts_with(scenario.name)).unwrap();
        assert!(row.contains(&scenario.bodies.to_string()), "{row}");
        for parameter in scenario.parameters {
            assert!(table.contains(parameter.name), "{}", parameter.name);
        }
    }
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

#[test]
fn check_describes_a_scene_and_warns() {
    let sandbox = Sandbox::new();
    let ball = "[[body]]\nshape = { sphere = { radius = 0.5 } }\n";
    let bullet = "[[body]]\nshape = { box = { half_extents = [0.1, 0.1, 0.1] } }\nvelocity = [900, 0, 0]\n";
    let floor = "[[static]]\nshape = { half_space = { normal = [0, 1, 0] } }\n";
    sandbox.write("scene.toml", format!("name = \"shot\"\nseconds = 2\n{ball}{bullet}{floor}"));
    let told = sandbox.good(&["check", "scene.toml"]);
    for part in [
        "`shot`",
        "2 (1 box, 1 sphere)",
        "1 (1 half-space)",
        "8 kg to 523.6 kg, 531.6 kg in all",
        "480 ticks of 1/240 s, 121 frames",
        "warning  body[1].velocity: moves 18.8 times its own thickness",
    ] {
        assert!(told.contains(part), "{part} is missing in {told}");
    }
    let ran = sandbox.run(&["run", "scene.toml", "--seconds", "0.1"]);
    assert!(ran.stderr.starts_with("warning: body[1].velocity"), "{ran:?}");
}

#[test]
fn every_command_has_help_with_an_exit_code_of_zero() {
    let sandbox = Sandbox::new();
    assert!(sandbox.good(&["--version"]).starts_with("anachron "));
    assert!(sandbox.good(&["--help"]).contains("Examples:"));
    for command in [
        "run",
        "list",
        "scene",
        "check",
        "info",
        "export",
        "diff",
        "render",
        "bench",
        "verify",
        "completions",
        "man",
    ] {
        assert!(sandbox.good(&[command, "--help"]).contains("Usage: anachron"), "{command}");
    }
    assert_eq!(sandbox.run(&[]).code, Some(2));
    assert_eq!(sandbox.run(&["dance"]).code, Some(2));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    use crate::running::Running;
    use std::io::Read;
    let sandbox = Sandbox::new();
    let arguments = ["scene", "gas", "--bodies", "20000"];
    let (mut reader, writer) = std::io::pipe().unwrap();
    let running = Running::start(sandbox.command(&arguments).stdout(writer));
    let mut first = [0; 4];
    reader.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"name");
    drop(reader);
    let ended = running.wait();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    // The same for the summary.
    let closed = || std::io::pipe().unwrap().1;
    let mut command = sandbox.command(&["run", "stack", "--seconds", "0.1", "--json"]);
    assert_eq!(Running::start(command.stdout(closed()).stderr(closed())).wait().code, Some(0));
}

#[test]
fn regions_that_are_not_had_are_a_note() {
    let sandbox = Sandbox::new();
    let balls = |radius: f64, count: usize, from: usize| -> String {
        let ball = |at: usize| {
            format!(
                "[[body]]\nshape = {{ sphere = {{ radius = {radius} }} }}\nposition = [{}, 0, 0]\n",
                8 * at
            )
        };
        (from..from + count).map(ball).collect()
    };
    let scene = |bodies: String| format!("seconds = 0.1\ngravity = [0, 0, 0]\n{bodies}");
    sandbox.write("mixed.toml", scene(balls(0.5, 9, 0) + &balls(3.0, 1, 9)));
    sandbox.write("equal.toml", scene(balls(0.5, 10, 0)));
    let large = "a body is more than four times as large as the median";
    let gear = "a gear was chosen, and gears are those of one store";
    for (scene, more, why, key) in [
        ("mixed.toml", &["--sync", "lockstep"][..], Some(large), "large_body"),
        ("mixed.toml", &["--sync", "timewarp"], Some(large), "large_body"),
        ("mixed.toml", &["--sync", "chaos"], Some(large), "large_body"),
        ("equal.toml", &["--gear", "near"], Some(gear), "gear"),
        ("equal.toml", &[], None, ""),
    ] {
        let ended = sandbox.run(&[&["run", scene, "--regions", "4", "--json"], more].concat());
        let notes: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("note: ")).collect();
        let told = why.map(|why| format!("note: --regions 4: one store has all bodies: {why}"));
        assert_eq!(notes, told.iter().map(String::as_str).collect::<Vec<_>>(), "{ended:?}");
        let object: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(object["processes"]["one_store"].as_str().unwrap_or_default(), key);
        assert_eq!(object["processes"]["regions"], if why.is_some() { 1 } else { 4 });
    }
    // Nothing was asked for, or nothing is to be told.
    for arguments in [&["run", "mixed.toml", "--cores", "2"][..], &["run", "equal.toml", "--regions", "1"]] {
        assert_eq!(sandbox.run(arguments).stderr, "");
    }
    assert_eq!(sandbox.run(&["run", "mixed.toml", "--regions", "4", "--quiet"]).stderr, "");
}

#[test]
fn a_trace_is_written_beside_the_outcome() {
    let sandbox = Sandbox::new();
    let plain = ["run", "stack", "--seconds", "0.2", "--regions", "bodies"];
    let object = sandbox.json(&[&plain[..], &["--trace", "trace.json"]].concat());
    assert_eq!(object["digest"], sandbox.digest(&plain).as_str());
    let speculation = &object["speculation"];
    for key in ["messages", "gvt", "window", "cores", "memory", "efficiency", "steps", "events"] {
        assert!(speculation.get(key).is_some(), "{key} is missing in {speculation}");
    }
    let trace: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("trace.json")).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 100);
    let told = sandbox.good(&plain);
    for label in ["messages", "window", "GVT", "cores busy", "histories"] {
        assert!(told.contains(&format!("\n  {label} ")), "{label} is missing in {told}");
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_rejected_before_the_run() {
    let sandbox = Sandbox::new();
    let run = ["run", "stack", "--regions", "bodies", "--record", "stack.anr", "--trace"];
    for path in ["missing/trace.json", "."] {
        let ended = sandbox.run(&[&run[..], &[path]].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("--trace"), "{ended:?}");
        assert!(!sandbox.path("stack.anr").exists(), "nothing has begun");
    }
    let ended = sandbox.run(&["run", "stack", "--sync", "sequential", "--trace", "trace.json"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--trace") && ended.stderr.contains("--regions bodies"), "{ended:?}");
}
