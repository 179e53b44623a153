//! `bench`: small measurements, to check the form of the output; their numbers mean nothing.

use crate::program::Sandbox;

/// Expected message of `bench solver` for a scene that does not exist; without Rapier the feature is missing first.
const SOLVER: &str = if cfg!(feature = "rapier") { "no-such-scene" } else { "--features rapier" };

fn text(sandbox: &Sandbox, name: &str) -> String {
    String::from_utf8(sandbox.read(&format!("out/{name}"))).unwrap()
}

#[test]
fn a_speedup_is_measured_and_a_projection_is_called_one() {
    let sandbox = Sandbox::new();
    let small = ["--bodies", "12", "--seconds", "0.1", "--repeat", "2", "--out", "out"];
    let speedup = ["bench", "speedup", "parallel", "--cores", "2", "--project", "1,4"];
    let shown = sandbox.good(&[&speedup[..], &small].concat());
    let table = text(&sandbox, "speedup-parallel-12.csv");
    let rows: Vec<&str> = table.lines().collect();
    let begins = [
        "cores,kind,",
        "plain loop,measured,",
        "1,measured,",
        "2,measured,",
        "1,projection,",
        "4,projection,",
    ];
    assert_eq!(rows.len(), begins.len(), "{table}");
    for (row, begin) in rows.iter().zip(begins) {
        assert!(row.starts_with(begin), "{row} does not begin with {begin}");
    }
    assert!(shown.contains("projection") && shown.contains("cores"), "{shown}");
    assert!(
        shown.contains(&sandbox.digest(&["run", "parallel", "--bodies", "12", "--seconds", "0.1"])),
        "{shown}"
    );
    let page = text(&sandbox, "speedup.html");
    assert!(page.contains("<svg") && page.contains("not measured") && !page.contains("<script"), "{page}");
    assert!(text(&sandbox, "speedup-parallel-12.svg").starts_with("<svg"));
    let machine: serde_json::Value = serde_json::from_str(&text(&sandbox, "machine.json")).unwrap();
    assert!(machine["cores"].as_u64().unwrap() > 0 && machine["processor"].is_string());
}

#[test]
fn every_measurement_leaves_a_table_and_a_page() {
    let sandbox = Sandbox::new();
    let runs: [(&str, &[&str], &str); 5] = [
        ("overlap", &["bowl", "--bodies", "20", "--workers", "1,2", "--iterations", "4"], "overlap-bowl"),
        ("density", &["--bodies", "20", "--volumes", "100,400"], "density"),
        ("window", &["--windows", "16,64"], "window"),
        ("scale", &["--bodies", "20,40"], "scale"),
        ("breakdown", &["bouncing", "--bodies", "27"], "breakdown-bouncing-27"),
    ];
    for (what, arguments, name) in runs {
        let small = ["--seconds", "0.02", "--repeat", "1", "--out", "out"];
        sandbox.good(&[&["bench", what], arguments, &small].concat());
        assert!(text(&sandbox, &format!("{name}.csv")).lines().count() >= 2, "{what}");
        assert!(text(&sandbox, &format!("{name}.svg")).contains("</svg>"), "{what}");
        assert!(text(&sandbox, &format!("{what}.html")).contains("</html>"), "{what}");
    }
    let shares = text(&sandbox, "breakdown-bouncing-27.csv");
    let row = shares.lines().nth(1).unwrap();
    let sum: f64 =
        row.split(',').skip(1).map(|cell| cell.trim_end_matches(" %").parse::<f64>().unwrap()).sum();
    assert!((sum - 100.0).abs() < 1.0, "shares add up to {sum} %");
}

#[test]
fn mistakes_are_reported_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "x");
    let wrong: [(&[&str], &str); 7] = [
        (&["bench", "solver", "no-such-scene", "--out", "out"], SOLVER),
        (&["bench", "overlap", "bowls", "--out", "out"], "did you mean `bowl`?"),
        (&["bench", "speedup", "--cores", "0"], "--cores"),
        (&["bench", "speedup", "--cores", "4..1"], "4..1"),
        (&["bench", "scale", "--repeat", "0"], "--repeat"),
        (&["bench", "density", "--out", "file/x"], "--out"),
        (&["bench", "speedup", "no-such-scene", "--out", "out"], "no-such-scene"),
    ];
    for (arguments, part) in wrong {
        let ended = sandbox.run(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
    }
}
