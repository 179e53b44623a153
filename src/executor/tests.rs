//! When a run has stalled: a message that is lost ends it with an error that says what waits for what, and nothing that
//! only takes long does.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::base::stop::Stop;
use crate::base::time::Tick;
use crate::executor::actor_system::Between;
use crate::executor::{Job, RunError, Simulation, SyncMode, Tuning, sequential, timewarp};
use crate::physics::World;
use crate::protocol::{Entity, EntityId, Message, Plan, TableRequest, WriteResult};
use crate::rigid::RigidModel;
use crate::runtime::inputs::{Input, QueuedInput};
use crate::runtime::network::{Network, Transport};
use crate::scenarios::{Request, build};
use crate::scene::{Body, Scene, Shape};
use crate::tvht::Lane;
use crate::{BodyId, Frame};

/// A multiple of the time between two looks at whether anything is under way.
const MANY_LOOKS: Duration = Duration::from_millis(700);

/// What goes wrong, once.
#[derive(Clone, Copy, PartialEq)]
enum Mishap {
    /// The first acknowledgement is lost.
    NoAck,
    /// The handler that sends the first acknowledgement takes long.
    SlowHandler,
    /// The first reply of the table is lost.
    NoReply,
    /// The first wake-ups are lost.
    NoWakeUp,
    /// The first poll that an entity sends itself is lost.
    NoPoll,
    /// The first input is on its way for a long time.
    SlowInput,
}

/// Carries messages as they are, but for one mishap.
struct Unlucky {
    transport: Box<dyn Transport>,
    network: Arc<Network>,
    mishap: Mishap,
    /// How often it was time for the mishap.
    occasions: AtomicU32,
}

impl Unlucky {
    fn between(mishap: Mishap) -> Between {
        Box::new(move |network, transport| {
            let network = network.clone();
            Box::new(Unlucky { transport, network, mishap, occasions: AtomicU32::new(0) })
        })
    }

    fn strikes(&self, mishap: Mishap) -> bool {
        self.mishap == mishap && self.occasions.fetch_add(1, SeqCst) == 0
    }

    /// Whether `messages` messages are lost: then they have not been sent.
    fn loses(&self, mishap: Mishap, messages: usize) -> bool {
        let is_lost = self.strikes(mishap);
        if is_lost {
            (0..messages).for_each(|_| self.network.withdraw());
        }
        is_lost
    }
}

impl Transport for Unlucky {
    fn deliver(&self, from: EntityId, to: EntityId, message: Message<RigidModel>) {
        let is_ack = matches!(message, Message::Ack { .. });
        if is_ack && self.loses(Mishap::NoAck, 1) {
            return;
        }
        self.transport.deliver(from, to, message);
        if is_ack && self.strikes(Mishap::SlowHandler) {
            thread::sleep(MANY_LOOKS);
        }
    }

    fn deliver_input(&self, to: EntityId, pinned: Tick, entry: QueuedInput) {
        if self.strikes(Mishap::SlowInput) {
            thread::sleep(MANY_LOOKS);
        }
        self.transport.deliver_input(to, pinned, entry);
    }

    fn poll(&self, entity: EntityId) {
        if !self.loses(Mishap::NoPoll, 1) {
            self.transport.poll(entity);
        }
    }

    fn wake(&self, arbiter: usize, entities: Vec<EntityId>) {
        if !self.loses(Mishap::NoWakeUp, entities.len()) {
            self.transport.wake(arbiter, entities);
        }
    }

    fn start(&self, entity: Entity<RigidModel>, network: Arc<Network>) {
        self.transport.start(entity, network);
    }

    fn request(&self, bucket: u32, request: TableRequest<RigidModel>) {
        self.transport.request(bucket, request);
    }

    fn unlock(&self, bucket: u32) {
        self.transport.unlock(bucket);
    }

    fn reply(&self, plan: Plan<RigidModel>, reply: WriteResult<RigidModel>) {
        if !self.loses(Mishap::NoReply, 1) {
            self.transport.reply(plan, reply);
        }
    }

    fn has_bucket_actors(&self) -> bool {
        self.transport.has_bucket_actors()
    }
}

/// Two balls that meet at tick 61, and a third one far away. Their ids are 10, 20 and 30.
fn meeting() -> Scene {
    let mut scene = Scene { seconds: 1.0, gravity: [0.0; 3], ..Scene::default() };
    for (id, x, v) in [(10, 0.0, 2.0), (20, 2.0, -2.0), (30, 50.0, 0.0)] {
        let ball = Body::new(Shape::Sphere { radius: 0.5 }, [x, 0.0, 0.0]).moving([v, 0.0, 0.0]);
        scene.bodies.push(Body { id: Some(id), ..ball });
    }
    scene
}

fn frames_of(model: &RigidModel) -> Vec<Frame> {
    let mut frames = Vec::new();
    let run = sequential::run(model, None, &Stop::default(), &mut |frame| {
        frames.push(frame);
        ControlFlow::Continue(())
    });
    run.expect("the sequential run finishes");
    frames
}

/// Runs a scene in which something goes wrong. Returns the error, or checks the frames.
fn run(scene: &Scene, tuning: Tuning, cores: usize, mishap: Mishap) -> Result<(), RunError> {
    let model = RigidModel::new(Arc::new(World::new(scene)?));
    let job = Job { model: &model, tuning: &tuning, inputs: None, stop: &Stop::default() };
    let mut frames = Vec::new();
    timewarp::run_with(job, cores, None, Unlucky::between(mishap), &mut |frame| {
        frames.push(frame);
        ControlFlow::Continue(())
    })?;
    assert!(frames == frames_of(&model), "a run that took longer has another result");
    Ok(())
}

fn stall(tuning: Tuning, mishap: Mishap) -> String {
    let error = run(&meeting(), tuning, 1, mishap).expect_err("something was lost");
    assert!(matches!(error, RunError::Stalled(_)), "{error:?}");
    error.to_string()
}

/// Every ball has an entity of its own.
fn apart() -> Tuning {
    Tuning::default()
}

#[test]
fn a_lost_acknowledgement_is_named() {
    let text = stall(apart(), Mishap::NoAck);
    let expected = "the run has stalled: no message is on its way, and tick 240 is not reached: body 20 (entity 1) \
                    at tick 61 waits for body 10 (entity 0) to acknowledge a contact at tick 61";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_lost_reply_of_the_table_is_named() {
    let text = stall(Tuning { lane: Lane::Actors, ..apart() }, Mishap::NoReply);
    let expected = ": body 30 (entity 2) at tick 0 waits for the table to reply to its plan from tick 0";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_lost_wake_up_is_named() {
    let text = stall(Tuning { window_ticks: 8, ..apart() }, Mishap::NoWakeUp);
    assert!(text.contains("waits for the lowest LVT to reach tick "), "{text}");
    assert!(text.contains("body ") && text.contains(" at tick "), "{text}");
}

#[test]
fn a_lost_poll_is_named() {
    let text = stall(apart(), Mishap::NoPoll);
    assert!(text.contains("(entity 0) at tick ") && text.contains(" waits for a poll"), "{text}");
}

#[test]
fn entities_that_are_done_are_not_named() {
    let text = stall(apart(), Mishap::NoAck);
    assert!(!text.contains("body 30"), "body 30 has reached the end: {text}");
}

#[test]
fn a_handler_may_take_as_long_as_it_likes() {
    let mut scene = meeting();
    // On two cores, each of the two that meet has a core of its own.
    scene.bodies.truncate(2);
    for cores in [1, 2] {
        assert_eq!(run(&scene, apart(), cores, Mishap::SlowHandler), Ok(()), "{cores} cores");
    }
}

#[test]
fn an_input_may_be_on_its_way_for_long() {
    let mut simulation = Simulation::new(&meeting()).expect("the scene is valid");
    let inputs = simulation.inputs();
    let model = RigidModel::new(simulation.world().clone());
    let (tuning, mut given) = (apart(), false);
    let job = Job { model: &model, tuning: &tuning, inputs: Some(&inputs), stop: &Stop::default() };
    thread::scope(|scope| {
        let run = timewarp::run_with(job, 2, None, Unlucky::between(Mishap::SlowInput), &mut |frame| {
            if !std::mem::replace(&mut given, true) {
                let (inputs, push) = (inputs.clone(), push());
                // The frame is taken while the input is still on its way.
                scope.spawn(move || inputs.give(frame.tick + 100, push).expect("the tick is in the future"));
            }
            ControlFlow::Continue(())
        });
        assert!(run.is_ok(), "{:?}", run.err());
    });
    assert_eq!(inputs.len(), 1);
}

fn push() -> Input {
    Input::Push { body: BodyId(30), impulse: [1.0, 0.0, 0.0], turn: [0.0; 3] }
}

/// One tick of all bodies takes many times longer than two looks, in this profile.
#[test]
fn a_thousand_iterations_are_no_stall() {
    let request = Request { bodies: Some(40), seconds: Some(5.0 / 240.0), ..Request::default() };
    let mut scene = build("pyramid", &request).expect("the scenario is valid");
    scene.response.iterations = 1000;
    // One tick in each handler.
    let tuning = Tuning { contact_window_ticks: Some(0), ..Tuning::default() };
    let simulation = Simulation::new(&scene).expect("the scene is valid").tuning(tuning);
    let digest =
        |sync| simulation.clone().sync(sync).run(|_| ControlFlow::Continue(())).map(|run| run.digest);
    assert_eq!(digest(SyncMode::Timewarp), digest(SyncMode::Sequential));
}
