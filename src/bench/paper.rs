//! Numbers that the papers report, to be shown beside those that are measured here.
//!
//! J. Koenig, I. Karamouzas, S. J. Guy, "Object-Centric Parallel Rigid Body Simulation With Timewarp". Its figures
//! are read only as far as its sentences state values; curves are not traced.

/// A range of speedups that the paper states for a number of cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// The scenario it is stated for.
    pub scenario: &'static str,
    /// The numbers of bodies it is stated for.
    pub bodies: &'static [u32],
    /// Number of cores it is stated for.
    pub cores: u32,
    /// Least speedup over one core.
    pub low: f64,
    /// Greatest speedup over one core.
    pub high: f64,
}

/// The speedups that the text states: 5 to 6.5 on 8 cores for all, on 16 cores 9.5 to 11 and 7 for bouncing.
pub const SPEEDUPS: &[Stated] = &[
    Stated { scenario: "parallel", bodies: &[200, 500], cores: 8, low: 5.0, high: 6.5 },
    Stated { scenario: "cylinders", bodies: &[200, 500], cores: 8, low: 5.0, high: 6.5 },
    Stated { scenario: "bouncing", bodies: &[200, 500], cores: 8, low: 5.0, high: 6.5 },
    Stated { scenario: "parallel", bodies: &[200, 500], cores: 16, low: 9.5, high: 11.0 },
    Stated { scenario: "cylinders", bodies: &[500], cores: 16, low: 9.5, high: 11.0 },
    Stated { scenario: "bouncing", bodies: &[200, 500], cores: 16, low: 7.0, high: 7.0 },
];

impl Stated {
    /// As a text for tables.
    pub fn text(&self) -> String {
        if self.low == self.high { format!("{}", self.low) } else { format!("{} to {}", self.low, self.high) }
    }
}

/// Least speedup that the text states for bouncing on 16 cores, for boxes of 100 to 400 cubic metres.
pub const DENSITY_SPEEDUP: f64 = 9.0;

/// Windows to compare, milliseconds; the text names one value only.
pub const WINDOWS_MS: [u32; 4] = [16, 64, 256, 1024];

/// The gain of a longer window flattens out here, milliseconds.
pub const WINDOW_PLATEAU_MS: f64 = 256.0;

/// The speedups that the text states for a scenario.
pub fn speedups(scenario: &str, bodies: u32) -> impl Iterator<Item = &'static Stated> {
    SPEEDUPS.iter().filter(move |stated| stated.scenario == scenario && stated.bodies.contains(&bodies))
}

/// A row of table 2 of M. Kale, P. G. Kry, "Distributed Simulation of Large Multi-body Systems".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedScene {
    /// The scenario here that stands for the paper's scene.
    pub scenario: &'static str,
    /// Number of bodies in the paper's scene.
    pub bodies: u32,
    /// Number of joints in the paper's scene.
    pub joints: u32,
    /// Number of contacts, on average over the steps.
    pub contacts: u32,
    /// Best speedup over one worker.
    pub speedup: f64,
    /// The number of workers it was reached with.
    pub workers: u32,
}

/// The scenes that are shared by workers. Steps are of 2 ms.
pub const SHARED_SCENES: &[SharedScene] = &[
    SharedScene { scenario: "bowl", bodies: 5040, joints: 0, contacts: 7022, speedup: 4.10, workers: 7 },
    SharedScene { scenario: "building", bodies: 2408, joints: 0, contacts: 20471, speedup: 3.27, workers: 8 },
    SharedScene {
        scenario: "four-way-bridge",
        bodies: 1691,
        joints: 3712,
        contacts: 8924,
        speedup: 2.86,
        workers: 3,
    },
    SharedScene { scenario: "bridge", bodies: 1798, joints: 3180, contacts: 3890, speedup: 5.03, workers: 8 },
    SharedScene {
        scenario: "chain-net",
        bodies: 3724,
        joints: 0,
        contacts: 76305,
        speedup: 5.37,
        workers: 6,
    },
];
