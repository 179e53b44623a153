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
    golden("parallel", 50, 1000, "ef65c631a6174cf0fa66d07d56c633c9"),
    golden("cylinders", 200, 1500, "97399832ce9e465c5af9b90d4e87d501"),
    with(golden("bouncing", 60, 1000, "c4c3197dd4abb365b6a97cb60bc3e0c9"), "density", "lo"),
    golden("bouncing", 60, 1000, "0543098100cecd7547b00de3006a0bf1"),
    with(golden("bouncing", 60, 1000, "af5d22b5b999e183f1f441f07d8fd986"), "density", "hi"),
    with(golden("bouncing", 200, 1000, "96194b77f3b55eef93192ad672361e4b"), "volume_m3", "100"),
    golden("gas", 500, 1000, "75176c471b3195d874519e04401a1ad7"),
    golden("bowl", 200, 1500, "cff769b43e0686e943b5b38fb286f87c"),
    golden("pyramid", 55, 500, "3c5769705ba82b3f261d644b49d71e23"),
    golden("stack", 10, 1000, "ae1bae0b016729c93b7996b818fb7ec3"),
    with(golden("stack", 10, 1000, "9ac5466f125e508dcb40017286b5a51d"), "shape", "sphere"),
    golden("newton-cradle", 5, 2500, "d23009205dd92bfda9e2f64a411a0254"),
    golden("billiards", 16, 1000, "0ff2ad142b53c9fe54dddd50011ad8f0"),
    golden("building", 130, 500, "0da64f1d94dd6a106d8e6b7db054cba6"),
    golden("bridge", 61, 250, "a4e76262f20851f3e36aea21ead2c707"),
    golden("four-way-bridge", 71, 250, "9f5b3f468bf482fbc3ef9e830a00f749"),
    golden("chain-net", 40, 400, "17af1e4271166e42b59e3bcceb809693"),
];
