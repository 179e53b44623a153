//! The memory of a run does not depend on its length: a few seconds of what `tests/soak.sh` looks at for minutes.
#![cfg(target_os = "linux")]

use crate::program::Sandbox;

/// What a long run may take beyond a short one, bytes. The allocator takes memory in pieces of 2 MiB, and how many
/// depends on how threads are held up; the long runs would take more if they kept 1.2 KB of every tick.
const MORE_MAX: u64 = 8 << 20;

/// What a run added to the memory of the process, bytes.
fn added(sandbox: &Sandbox, scene: &[&str], seconds: &str) -> u64 {
    let told = sandbox.json(&[&["run"], scene, &["--seconds", seconds]].concat());
    let [start, peak] = ["start_rss_bytes", "peak_rss_bytes"].map(|key| told[key].as_u64().unwrap());
    peak - start
}

#[test]
fn a_long_run_takes_no_more_than_a_short_one() {
    let sandbox = Sandbox::new();
    for scene in [
        &["gas", "--bodies", "300", "--cores", "2", "--regions", "2"][..],
        &["gas", "--bodies", "300", "--cores", "2", "--regions", "2", "--sync", "lockstep"],
        &["gas", "--bodies", "300", "--cores", "2", "--regions", "bodies"],
        &["bowl", "--bodies", "100", "--cores", "2"],
    ] {
        let [short, long] = ["2", "32"].map(|seconds| added(&sandbox, scene, seconds));
        assert!(long < short + MORE_MAX, "{scene:?}: {short} bytes for 2 s, {long} for 32 s");
    }
}
