//! Inputs to a simulation while it runs: pushes, velocities, spawns and despawns.
//!
//! An input is for a tick, and acts on the way from that tick to the next. It may be late: any tick that is not committed
//! yet is allowed, and only entities that it concerns are rolled back. The result is that of a run in which every input
//! was known from the start; so a simulation that is run again with its inputs repeats itself to the bit.

pub(crate) mod queue;
pub(crate) mod tick_queue;

use std::sync::{Arc, Mutex, MutexGuard};

use thiserror::Error;

use crate::base::ids::BodyId;
use crate::base::math::Vec3;
use crate::base::sync::lock;
use crate::base::time::Tick;
use crate::physics::{BodyDef, BodyInput, InputKind, World, body_def};
use crate::runtime::error::RunError;
use crate::scene::{Body, Scene, SceneError};

/// A spawned body may be at most this many times as large as the largest body of the scene, because the sizes at the start
/// decide the cells of the table. Not tuned.
const LARGER_MAX: f64 = 64.0;

/// An input to a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// An impulse on a body, linear and angular.
    Push {
        /// The body.
        body: BodyId,
        /// Impulse on the centre of mass, N s.
        impulse: [f64; 3],
        /// Angular impulse in world coordinates, N m s.
        turn: [f64; 3],
    },
    /// New velocities of a body; those that are `None` stay as they are.
    SetVelocity {
        /// The body.
        body: BodyId,
        /// Velocity of the centre of mass, m/s.
        velocity: Option<[f64; 3]>,
        /// Angular velocity in world coordinates, rad/s.
        angular_velocity: Option<[f64; 3]>,
    },
    /// A new body. Frames contain it from the next tick on. Its id, if it has one, must be above all others; else it gets
    /// the next free one.
    Spawn(Box<Body>),
    /// A body is removed. Frames contain it up to this tick.
    Despawn {
        /// The body.
        body: BodyId,
    },
}

/// Why an input was rejected. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum InputError {
    /// The tick is committed.
    #[error(
        "tick {tick} is committed: the run has committed everything up to tick {gvt}; use tick {gvt} or later, or keep more history"
    )]
    Committed {
        /// The tick the input was for.
        tick: Tick,
        /// Global virtual time.
        gvt: Tick,
    },
    /// The run ends before the input could act.
    #[error("tick {tick} is too late to act: the run ends at tick {last_tick}; use an earlier tick")]
    AfterTheEnd {
        /// The tick the input was for.
        tick: Tick,
        /// The last tick of the run.
        last_tick: Tick,
    },
    /// The run has ended.
    #[error("the run is over; start another one")]
    Over,
    /// There is no such body.
    #[error("there is no {0}; use the id of a body of the scene or of one that was spawned")]
    Unknown(BodyId),
    /// A number is not finite.
    #[error("`{0}` is not finite; use ordinary numbers")]
    NotFinite(&'static str),
    /// An id that is taken or would break the order of ids.
    #[error("{id} cannot be spawned: ids of new bodies ascend; use {next} or above, or leave the id out")]
    IdTaken {
        /// The id of the body.
        id: BodyId,
        /// The lowest id that is allowed.
        next: u32,
    },
    /// The body is much larger than all bodies of the scene.
    #[error(
        "a body of radius {radius_m} m is too large to be spawned: the limit is {limit_m} m here; put one of its size into the scene"
    )]
    TooLarge {
        /// Radius of its bounding ball, metres.
        radius_m: f64,
        /// The largest radius that is allowed, metres.
        limit_m: f64,
    },
    /// The body to be spawned is not usable.
    #[error("the body cannot be spawned: {0}")]
    Body(SceneError),
}

/// An input that was accepted.
#[derive(Clone, Debug)]
pub(crate) struct QueuedInput {
    /// The tick that it is for.
    pub tick: Tick,
    /// Its number, in the order in which inputs were given.
    pub number: u64,
    pub input: BodyInput,
}

/// Where a running executor receives inputs.
pub(crate) trait InputSink: Send + Sync {
    /// Pins GVT, so that `tick` is not committed before [`InputSink::take`] has been called with the pinned tick that is
    /// returned.
    fn pin(&self, tick: Tick) -> Result<Tick, InputError>;

    /// Takes the input. A new body is in the world's list by now.
    fn take(&self, pinned: Tick, entry: QueuedInput);
}

/// A handle that gives inputs to a simulation, before and while it runs. Clones give inputs to the same simulation.
///
/// ```
/// use anachron::scene::{Body, Scene, Shape};
/// use anachron::{BodyId, ControlFlow, Input, Simulation, SyncMode};
///
/// let mut scene = Scene { seconds: 1.0, gravity: [0.0; 3], ..Scene::default() };
/// scene.bodies.push(Body::new(Shape::Sphere { radius: 0.5 }, [0.0; 3]));
/// let mut simulation = Simulation::new(&scene)?.sync(SyncMode::Timewarp);
/// let inputs = simulation.inputs();
/// let push = Input::Push { body: BodyId(0), impulse: [1.0, 0.0, 0.0], turn: [0.0; 3] };
/// let live = simulation.run(|frame| {
///     if frame.index == 30 {
///         inputs.give(frame.tick, push.clone()).expect("the tick of a frame is not committed while it is shown");
///     }
///     ControlFlow::Continue(())
/// })?;
/// // The same inputs, known from the start, in the plain loop:
/// let again = simulation.sync(SyncMode::Sequential).run(|_| ControlFlow::Continue(()))?;
/// assert_eq!(live.digest, again.digest);
/// # Ok::<(), anachron::RunError>(())
/// ```
#[derive(Clone)]
pub struct Inputs {
    shared: Arc<Shared>,
}

struct Shared {
    /// The scene without its bodies, to check new bodies with.
    template: Scene,
    world: Arc<World>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// All inputs so far.
    journal: Vec<QueuedInput>,
    /// The run that takes inputs at present.
    sink: Option<Arc<dyn InputSink>>,
}

impl Inputs {
    pub(crate) fn new(template: Scene, world: Arc<World>) -> Self {
        Inputs { shared: Arc::new(Shared { template, world, state: Mutex::default() }) }
    }

    /// Gives an input for a tick, to the present run or to the next one. Returns the body that it is about. The input does
    /// nothing if that body does not exist at that tick.
    pub fn give(&self, tick: Tick, input: Input) -> Result<BodyId, InputError> {
        let Shared { world, .. } = &*self.shared;
        let last_tick = world.time.last_tick;
        if tick >= last_tick {
            return Err(InputError::AfterTheEnd { tick, last_tick });
        }
        let mut state = self.lock();
        let (index, kind, new_body) = self.resolve(input)?;
        let sink = state.sink.clone();
        let pinned = sink.as_ref().map(|sink| sink.pin(tick)).transpose()?;
        if let Some(body) = new_body {
            world.bodies.push(body);
        }
        let input = BodyInput { body: index as u32, kind };
        let entry = QueuedInput { tick, number: state.journal.len() as u64, input };
        state.journal.push(entry.clone());
        if let Some((sink, pinned)) = sink.zip(pinned) {
            sink.take(pinned, entry);
        }
        Ok(world.bodies[index].id)
    }

    /// Number of inputs given so far.
    pub fn len(&self) -> usize {
        self.lock().journal.len()
    }

    /// Whether no input has been given.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the body, what is done to it, and the body itself if it is new.
    fn resolve(&self, input: Input) -> Result<(usize, InputKind, Option<BodyDef>), InputError> {
        let world = &self.shared.world;
        let index = |body: BodyId| world.bodies.index_of(body).ok_or(InputError::Unknown(body));
        match input {
            Input::Push { body, impulse, turn } => {
                let impulse = finite("impulse", impulse)?;
                let turn = finite("turn", turn)?;
                Ok((index(body)?, InputKind::Push { impulse, turn }, None))
            }
            Input::SetVelocity { body, velocity, angular_velocity } => {
                let v = velocity.map(|v| finite("velocity", v)).transpose()?;
                let w = angular_velocity.map(|w| finite("angular_velocity", w)).transpose()?;
                Ok((index(body)?, InputKind::SetVelocity { v, w }, None))
            }
            Input::Despawn { body } => Ok((index(body)?, InputKind::Despawn, None)),
            Input::Spawn(body) => {
                let body = self.checked(*body)?;
                Ok((world.bodies.len(), InputKind::Spawn(body.start), Some(body)))
            }
        }
    }

    /// Checks and compiles a body that is to be spawned.
    fn checked(&self, mut body: Body) -> Result<BodyDef, InputError> {
        let Shared { template, world, .. } = &*self.shared;
        let next =
            world.bodies.len().checked_sub(1).map_or(0, |last| world.bodies[last].id.0.saturating_add(1));
        let id = *body.id.get_or_insert(next);
        if id < next {
            return Err(InputError::IdTaken { id: BodyId(id), next });
        }
        let scene = Scene { bodies: vec![body], ..template.clone() };
        scene.validate().map_err(InputError::Body)?;
        let body = body_def(&scene, 0).map_err(InputError::Body)?;
        // Cells of a scene without bodies are those of balls with a radius of 0.5 m.
        let largest = world.bodies.at_start().iter().map(|body| body.radius).reduce(f64::max).unwrap_or(0.5);
        let limit_m = LARGER_MAX * largest;
        if body.radius > limit_m {
            return Err(InputError::TooLarge { radius_m: body.radius, limit_m });
        }
        Ok(body)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

/// Begins a run: `build` makes it from the inputs known so far, and from now on inputs go to its sink, until the guard that
/// is returned with it is dropped.
pub(crate) fn open<T>(
    inputs: Option<&Inputs>,
    build: impl FnOnce(&[QueuedInput]) -> (Arc<dyn InputSink>, T),
) -> Result<(T, Option<Opened<'_>>), RunError> {
    let Some(inputs) = inputs else { return Ok((build(&[]).1, None)) };
    let mut state = inputs.lock();
    if state.sink.is_some() {
        return Err(RunError::InputsTaken);
    }
    let (sink, run) = build(&state.journal);
    state.sink = Some(sink);
    Ok((run, Some(Opened(inputs))))
}

/// Guard: inputs go to a run until it is dropped.
pub(crate) struct Opened<'a>(&'a Inputs);

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.lock().sink = None;
    }
}

fn finite(field: &'static str, v: [f64; 3]) -> Result<Vec3, InputError> {
    if v.iter().all(|c| c.is_finite()) { Ok(Vec3::from(v)) } else { Err(InputError::NotFinite(field)) }
}
