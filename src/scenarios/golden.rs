//! Golden digests: every executor, on every machine, in debug and in release, must commit these.
//!
//! They change only when the semantics change, and then all in one commit that says why. To print them anew:
//! `cargo test --test executors golden -- --nocapture`.

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

/// One short run of every scenario, chosen so that contacts happen in each that has any. Those with joints are run by
/// two workers.
pub const GOLDEN: &[Golden] = &[
    golden("parallel", 50, 1000, "4a71f1d8354ca6f510a2618351fd2d3a"),
    golden("cylinders", 200, 1500, "c9b9e9eedf0df3b739efe8cbf30f5df2"),
    with(golden("bouncing", 60, 1000, "1a5d406b696a7e9af2b0dbcab1eb5870"), "density", "lo"),
    golden("bouncing", 60, 1000, "9c2d0f890f9947e4c1a44755900cba09"),
    with(golden("bouncing", 60, 1000, "9df47d2231c1c611e0da3833b7a3ce37"), "density", "hi"),
    with(golden("bouncing", 200, 1000, "4fdd42c050bb9438239e5f9894a93efa"), "volume_m3", "100"),
    golden("gas", 500, 1000, "4356e22862dc2fdba1a077045cd49497"),
    golden("bowl", 200, 1500, "8cac479e2abe6ccee93ebe9b334f3eda"),
    golden("pyramid", 55, 500, "d915804ec5259c8eae89ba65cfc1064e"),
    golden("stack", 10, 1000, "f32a1016188db7bc86fa8827e3a98936"),
    with(golden("stack", 10, 1000, "6ebd92ca3a9d60f8bf950f6ab6343546"), "shape", "sphere"),
    golden("newton-cradle", 5, 2500, "94ca5fbee2695f9273f6d96176bf1ec2"),
    golden("billiards", 16, 1000, "4fca0a6a90e0a6d9bd8e7a3d81f09f35"),
    golden("building", 130, 500, "486105802b61ca68328c410db955d844"),
    golden("bridge", 61, 250, "2d3fef815ca0c89f00891287e6569335"),
    golden("four-way-bridge", 71, 250, "bc46a21610939c743654f531972399e4"),
    golden("chain-net", 40, 400, "6e234e5107452aa844fa9108a3b6ef57"),
];
