//! Golden digests: what every executor, on every machine, in debug and in release, must commit.
//!
//! They change only when the semantics change, and then all in one commit that says why. To print them anew:
//! `cargo test --release --test golden -- --nocapture`.

/// A short run of a scenario and the digest it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Golden {
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Number of bodies.
    pub bodies: u32,
    /// A parameter that is not at its default, if any.
    pub set: Option<(&'static str, &'static str)>,
    /// Simulated milliseconds.
    pub milliseconds: u32,
    /// Digest of all frames.
    pub digest: &'static str,
}

const fn golden(scenario: &'static str, bodies: u32, milliseconds: u32, digest: &'static str) -> Golden {
    Golden { scenario, bodies, set: None, milliseconds, digest }
}

const fn with(mut golden: Golden, name: &'static str, value: &'static str) -> Golden {
    golden.set = Some((name, value));
    golden
}

/// One short run of every scenario, chosen so that contacts happen in each that has any.
pub const GOLDEN: &[Golden] = &[
    golden("parallel", 50, 1000, ""),
    golden("cylinders", 200, 1500, ""),
    with(golden("bouncing", 60, 1000, ""), "density", "lo"),
    golden("bouncing", 60, 1000, ""),
    with(golden("bouncing", 60, 1000, ""), "density", "hi"),
    with(golden("bouncing", 200, 1000, ""), "volume_m3", "100"),
    golden("gas", 500, 1000, ""),
    golden("bowl", 200, 1500, ""),
    golden("pyramid", 55, 500, ""),
    golden("stack", 10, 1000, ""),
    with(golden("stack", 10, 1000, ""), "shape", "sphere"),
    golden("newton-cradle", 5, 2500, ""),
    golden("billiards", 16, 1000, ""),
];
