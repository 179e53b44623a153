//! Ways of running a scene. All of them commit the same frames, to the bit; [`sequential`] is the definition.

pub mod adversary;
pub mod chaos;
pub mod crowd;
mod report;
pub mod sequential;

use std::ops::ControlFlow;
use std::sync::Arc;

use thiserror::Error;

use crate::digest::Digester;
use crate::frame::Frame;
use crate::ids::BodyId;
use crate::physics::World;
use crate::scene::{Scene, SceneError};
use crate::time::Tick;
pub use report::{Report, Tally};

/// How a run is carried out. The result is the same for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The plain loop over ticks that defines the result.
    #[default]
    Sequential,
}

impl Sync {
    /// All of them, with the names used on the command line.
    pub const ALL: &[(&str, Sync)] = &[("sequential", Sync::Sequential)];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, sync)| *sync == self).map_or("unknown", |(name, _)| name)
    }
}

/// Why a run could not be finished.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RunError {
    /// The scene is not usable.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A body's state left the range of numbers.
    #[error("{body} at tick {tick} is no longer finite; {hint}")]
    NotFinite {
        /// Which body.
        body: BodyId,
        /// When.
        tick: Tick,
        /// What usually helps.
        hint: &'static str,
    },
}

/// A scene made ready to run.
///
/// ```
/// use anachron::scene::{Body, Scene, Shape, StaticObject};
/// use anachron::{ControlFlow, Simulation};
///
/// let mut scene = Scene { seconds: 1.0, ..Scene::default() };
/// scene.statics.push(StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]));
/// scene.bodies.push(Body::new(Shape::Sphere { radius: 0.5 }, [0.0, 2.0, 0.0]));
/// let report = Simulation::new(&scene)?.run(|frame| {
///     println!("{:.3} s: height {:.3} m", frame.time_s, frame.bodies[0].1.x.y);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(report.frames, 61);
/// # Ok::<(), anachron::RunError>(())
/// ```
#[derive(Clone)]
pub struct Simulation {
    world: Arc<World>,
    sync: Sync,
}

impl Simulation {
    /// Checks and compiles a scene.
    pub fn new(scene: &Scene) -> Result<Self, SceneError> {
        Ok(Simulation { world: Arc::new(World::new(scene)?), sync: Sync::default() })
    }

    /// Runs it another way. The result stays the same.
    pub fn sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }

    /// The compiled scene.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Runs to the end of the scene, or until `on_frame` breaks. Frames arrive in order, each exactly once.
    pub fn run(&self, mut on_frame: impl FnMut(&Frame) -> ControlFlow<()>) -> Result<Report, RunError> {
        let mut digester = Digester::new();
        let mut report = Report::new(&self.world);
        let mut sink = |frame: Frame| {
            digester.add(&frame);
            let flow = on_frame(&frame);
            report.see(&self.world, &frame, flow.is_break());
            flow
        };
        let tally = match self.sync {
            Sync::Sequential => sequential::run(&self.world, &mut sink)?,
        };
        Ok(report.finish(&self.world, tally, digester.digest()))
    }
}
