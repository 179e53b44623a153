//! `bench`: small measurements, to check the form of the output; their numbers mean nothing.

use std::collections::BTreeMap;

use crate::program::Sandbox;

/// Expected message of `bench solver` for a scene that does not exist; without Rapier the feature is missing first.
const SOLVER: &str = if cfg!(feature = "rapier") { "no-such-scene" } else { "--features rapier" };

fn text(sandbox: &Sandbox, name: &str) -> String {
    String::from_utf8(sandbox.read(&format!("out/{name}"))).unwrap()
}

/// The rows of a file, by the names of its columns. No cell of these files is quoted.
fn rows(sandbox: &Sandbox, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = text(sandbox, name);
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), header.len(), "{line}");
        header.iter().zip(cells).map(|(name, cell)| ((*name).to_owned(), cell.to_owned())).collect()
    };
    lines.map(row).collect()
}

/// Cells that are names; all others are numbers or empty.
const NAMES: [&str; 7] = ["scene", "parameters", "flags", "kind", "digest", "commit", "machine"];

fn check_rows(rows: &[BTreeMap<String, String>], digest: &str) {
    for row in rows {
        for (name, cell) in row.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
            assert!(cell.is_empty() || cell.parse::<f64>().is_ok(), "{name} is no number: {cell}");
        }
        assert!(row["run_s"].parse::<f64>().unwrap() > 0.0 && !row["machine"].is_empty(), "{row:?}");
        assert_eq!(row["digest"], digest, "{row:?}");
    }
}

#[test]
fn a_speedup_is_measured_and_a_projection_is_called_one() {
    let sandbox = Sandbox::new();
    let small = ["--bodies", "12", "--seconds", "0.1", "--repeat", "2", "--out", "out"];
    let speedup =
        ["bench", "speedup", "parallel", "--cores", "2", "--virtual", "1,4", "--messages-us", "0.2,100"];
    for (flags, name) in [(&["--sync", "lockstep"][..], "lockstep"), (&["--regions", "bodies"], "bodies")] {
        let shown = sandbox.good(&[&speedup[..], &small, flags].concat());
        assert!(shown.contains("projection") && shown.contains("are not measured"), "{shown}");
        let run = ["run", "parallel", "--bodies", "12", "--seconds", "0.1", "--set", "ticks_per_frame=240"];
        let digest = sandbox.digest(&run);
        assert!(shown.contains(&digest), "{shown}");
        let rows = rows(&sandbox, &format!("speedup-parallel-12-{name}.csv"));
        check_rows(&rows, &digest);
        let count = |kind: &str, cores: &str, message_us: &str| {
            let is_one = |row: &&BTreeMap<String, String>| {
                row["kind"] == kind && row["cores"] == cores && row["message_us"] == message_us
            };
            rows.iter().filter(is_one).count()
        };
        // Two repetitions each. On one core: the plain loop, the run itself, and the run for the price between handlers.
        assert_eq!((count("measured", "1", ""), count("measured", "2", "")), (6, 2));
        assert_eq!((count("projection", "4", "0.2"), count("projection", "4", "100")), (2, 2));
        assert_eq!((count("projection", "1", "0.2"), count("projection", "1", "100")), (4, 2));
        let page = text(&sandbox, "speedup.html");
        assert!(
            page.contains("<svg") && page.contains("not measured") && !page.contains("<script"),
            "{page}"
        );
        assert!(text(&sandbox, &format!("speedup-parallel-12-{name}.svg")).starts_with("<svg"));
    }
    let machine: serde_json::Value = serde_json::from_str(&text(&sandbox, "machine.json")).unwrap();
    assert!(machine["cores"].as_u64().unwrap() > 0 && machine["processor"].is_string());
}

/// A fixed cost in place of the measured one: the schedule is a function of scene and machine.
#[test]
fn equal_costs_give_equal_projections() {
    let sandbox = Sandbox::new();
    let scene = ["run", "gas", "--bodies", "40", "--seconds", "0.5", "--json", "--quiet"];
    for how in [&["--sync", "lockstep", "--regions", "4"][..], &["--regions", "4"], &["--regions", "bodies"]]
    {
        let fixed = ["--virtual", "4", "--fixed-cost-ns", "900", "--message-us", "5"];
        let told = || -> serde_json::Value {
            let told = sandbox.good(&[&scene[..], how, &fixed].concat());
            let mut told: serde_json::Value = serde_json::from_str(&told).unwrap();
            // Phases within a handler are measured whatever a handler costs.
            told["projection"].as_object_mut().unwrap().remove("activities");
            told
        };
        let (first, again) = (told(), told());
        assert_eq!(first["projection"], again["projection"], "{how:?}");
        assert!(first["projection"]["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(first["digest"], serde_json::Value::from(sandbox.digest(&scene[..6])), "{how:?}");
    }
    let refused = sandbox.run(&[&scene[..], &["--sync", "sequential", "--virtual", "4"]].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--virtual"), "{refused:?}");
}

#[test]
fn the_figures_of_the_paper_have_its_values_beside_them() {
    let sandbox = Sandbox::new();
    let small =
        ["--seconds", "0.02", "--repeat", "1", "--bodies", "10,20", "--cores", "1,2", "--virtual", "1,4"];
    let shown = sandbox.good(&[&["bench", "paper", "--out", "out"], &small[..]].concat());
    for part in ["figure 7", "figure 8", "figure 9", "figure 10", "not given", "over 50 %", "levels off here"]
    {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    for name in ["7-parallel-10", "7-cylinders-20", "7-bouncing-20", "8", "9-volume", "9-bodies", "10"] {
        let rows = rows(&sandbox, &format!("paper-{name}.csv"));
        assert!(rows.iter().any(|row| row["kind"] == "projection" && row["cores"] == "4"), "{name}");
        assert!(text(&sandbox, &format!("paper-{name}.svg")).contains("</svg>"), "{name}");
    }
    let shares = rows(&sandbox, "paper-8.csv");
    let shares = shares.iter().find(|row| row["cores"] == "4").unwrap();
    let sum: f64 = shares
        .iter()
        .filter(|(name, _)| name.ends_with("_share"))
        .map(|(_, cell)| cell.parse::<f64>().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-9, "shares add up to {sum}");
}

#[test]
fn every_measurement_leaves_a_table_and_a_page() {
    let sandbox = Sandbox::new();
    let runs: [(&str, &[&str], &str); 2] = [
        ("overlap", &["bowl", "--bodies", "20", "--workers", "1,2", "--iterations", "4"], "overlap-bowl"),
        ("scale", &["--bodies", "20,40"], "scale"),
    ];
    for (what, arguments, name) in runs {
        let small = ["--seconds", "0.02", "--repeat", "1", "--out", "out"];
        sandbox.good(&[&["bench", what], arguments, &small].concat());
        assert!(text(&sandbox, &format!("{name}.csv")).lines().count() >= 2, "{what}");
        assert!(text(&sandbox, &format!("{name}.svg")).contains("</svg>"), "{what}");
        assert!(text(&sandbox, &format!("{what}.html")).contains("</html>"), "{what}");
    }
}

#[test]
fn scale_measures_what_was_asked_for_beside_one_process_per_body() {
    let sandbox = Sandbox::new();
    let small = ["bench", "scale", "--bodies", "300", "--seconds", "0.05", "--repeat", "1", "--cores", "2"];
    for (given, flags) in [
        (&[][..], "--cores 2"),
        (&["--regions", "4"], "--cores 2 --regions 4"),
        (&["--sync", "lockstep", "--regions", "auto"], "--cores 2 --sync lockstep --regions auto"),
        (&["--regions", "bodies"], "--cores 2 --regions bodies"),
    ] {
        let shown = sandbox.good(&[&small[..], given, &["--out", "out"]].concat());
        assert!(shown.contains("KiB per body") && shown.contains("start and stop"), "{shown}");
        let rows = rows(&sandbox, "scale.csv");
        let all: Vec<&str> = rows.iter().map(|row| row["flags"].as_str()).collect();
        let by_body = "--regions bodies --cores 2";
        let expected = [flags, by_body, "--sync sequential"];
        let is_expected = |flags: &&str| *flags != by_body || !given.contains(&"bodies");
        assert_eq!(all, expected.into_iter().filter(is_expected).collect::<Vec<_>>());
        for row in &rows {
            let is_timed = row["start_stop_s"].parse::<f64>().is_ok_and(|seconds| seconds > 0.0);
            assert_eq!(is_timed, row["flags"] != "--sync sequential", "{row:?}");
            let is_weighed = row["rss_bytes_per_body"].parse::<f64>().is_ok_and(|bytes| bytes > 0.0);
            assert_eq!(is_weighed, cfg!(target_os = "linux"), "{row:?}");
        }
    }
}

#[test]
fn nothing_is_written_unless_a_folder_is_named() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&["bench", "scale", "--bodies", "20", "--seconds", "0.02", "--repeat", "1"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("--out"), "{ended:?}");
    assert!(!sandbox.path("bench").exists());
}

#[test]
fn mistakes_are_reported_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "x");
    let wrong: [(&[&str], &str); 12] = [
        (&["bench", "scale", "--sync", "overlap"], "bench overlap"),
        (&["bench", "overhead", "--sync", "overlap"], "bench overlap"),
        (&["bench", "solver", "no-such-scene", "--out", "out"], SOLVER),
        (&["bench", "overlap", "bowls", "--out", "out"], "did you mean `bowl`?"),
        (&["bench", "speedup", "--cores", "0"], "--cores"),
        (&["bench", "speedup", "--cores", "4..1"], "4..1"),
        (&["bench", "speedup", "--messages-us=-1"], "--messages-us"),
        (&["bench", "scale", "--repeat", "0"], "--repeat"),
        (&["bench", "scale", "--out", "file/x"], "--out"),
        (&["bench", "paper", "--figures", "6"], "--figures"),
        (&["bench", "paper", "--regions", "4"], "bench speedup"),
        (&["bench", "speedup", "no-such-scene", "--out", "out"], "no-such-scene"),
    ];
    for (arguments, part) in wrong {
        let ended = sandbox.run(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
    }
}
