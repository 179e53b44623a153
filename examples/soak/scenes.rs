//! The scenes of a soak, and how each is kept going.

use std::ops::ControlFlow;

use anachron::scenarios::{Request, build};
use anachron::{BodyId, Frame, Input, InputError, Regions, RunError, Simulation, SyncMode, Tuning};

use crate::memory::Watch;

/// Simulated seconds of a run that goes on until its time is over.
const ENDLESS_S: f64 = 500_000.0;
/// Pushes per simulated second in a bowl that is stirred.
const PUSHES_PER_S: u64 = 4;
/// Ticks between the frame that is shown and the tick of a push, at most.
const AHEAD_TICKS_MAX: u64 = 24;
/// A ball weighs 524 kg: a push throws it up by two metres at most, and not out of the bowl.
const UP_N_S: f64 = 3_200.0;
const ASIDE_N_S: f64 = 1_500.0;

/// What is run.
#[derive(Clone, Copy)]
pub struct SoakScene {
    pub name: &'static str,
    scenario: &'static str,
    bodies: u32,
    sync: SyncMode,
    regions: Regions,
    /// Simulated seconds until it begins again; endless if nothing is given.
    seconds: Option<f64>,
    is_stirred: bool,
}

const fn scene(name: &'static str, scenario: &'static str, bodies: u32) -> SoakScene {
    let (sync, regions) = (SyncMode::Timewarp, Regions::Auto);
    SoakScene { name, scenario, bodies, sync, regions, seconds: None, is_stirred: false }
}

/// Balls of `cylinders` have fallen off after some seconds; so that scene begins again and again.
const CYLINDERS_S: Option<f64> = Some(6.0);

/// All of them: by regions under both rules, in one store, and by one process per body.
pub const SCENES: &[SoakScene] = &[
    scene("gas-timewarp", "gas", 4_000),
    SoakScene { sync: SyncMode::Lockstep, ..scene("gas-lockstep", "gas", 4_000) },
    SoakScene { regions: Regions::Bodies, ..scene("gas-bodies", "gas", 1_000) },
    SoakScene { seconds: CYLINDERS_S, ..scene("cylinders-store", "cylinders", 500) },
    SoakScene {
        seconds: CYLINDERS_S,
        regions: Regions::Count(4),
        ..scene("cylinders-regions", "cylinders", 200)
    },
    SoakScene {
        seconds: CYLINDERS_S,
        regions: Regions::Bodies,
        ..scene("cylinders-bodies", "cylinders", 200)
    },
    SoakScene { is_stirred: true, ..scene("bowl-stirred-store", "bowl", 1_000) },
    SoakScene { is_stirred: true, regions: Regions::Bodies, ..scene("bowl-stirred-bodies", "bowl", 300) },
];

/// What a scene came to.
#[derive(Default)]
pub struct Soaked {
    pub runs: u64,
    pub simulated_s: f64,
    pub inputs: usize,
}

impl SoakScene {
    /// Keeps the scene going until the watch says that all time is over.
    pub fn soak(&self, watch: &mut Watch, seed: u64) -> Result<Soaked, RunError> {
        let request = Request { bodies: Some(self.bodies), ..Request::default() };
        let mut scene = build(self.scenario, &request)?;
        scene.seconds = self.seconds.unwrap_or(ENDLESS_S);
        let frames_per_s = (scene.ticks_per_second / f64::from(scene.ticks_per_frame)) as u64;
        let mut soaked = Soaked::default();
        let mut dice = Dice(seed);
        let mut is_over = false;
        while !is_over {
            let tuning = Tuning { regions: self.regions, ..Tuning::default() };
            let mut simulation = Simulation::new(&scene)?.sync(self.sync).tuning(tuning).cores(2);
            let inputs = self.is_stirred.then(|| simulation.inputs());
            let report = simulation.run(|frame| {
                if let Some(inputs) = &inputs {
                    stir(frame, frames_per_s, &mut dice, |tick, push| inputs.give(tick, push));
                }
                is_over = watch.look();
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            soaked.runs += 1;
            soaked.simulated_s += report.seconds;
            soaked.inputs += inputs.map_or(0, |inputs| inputs.len());
        }
        Ok(soaked)
    }
}

/// Now and then pushes a body that is drawn, at a tick that is not committed yet.
fn stir(
    frame: &Frame,
    frames_per_s: u64,
    dice: &mut Dice,
    give: impl FnOnce(u64, Input) -> Result<BodyId, InputError>,
) {
    if !frame.index.is_multiple_of((frames_per_s / PUSHES_PER_S).max(1)) {
        return;
    }
    let (body, _) = frame.bodies[dice.below(frame.bodies.len() as u64) as usize];
    let tick = frame.tick + dice.below(AHEAD_TICKS_MAX);
    let impulse = [dice.sign() * ASIDE_N_S, dice.unit() * UP_N_S, dice.sign() * ASIDE_N_S];
    let push = Input::Push { body, impulse, turn: [0.0; 3] };
    give(tick, push).expect("the frame that is shown is not committed, and the end is far");
}

/// Numbers that follow from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below `count`.
    fn below(&mut self, count: u64) -> u64 {
        self.roll() % count
    }

    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From -1 to below 1.
    fn sign(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }
}
