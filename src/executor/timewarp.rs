//! Time Warp on actix: one actor per entity, spread over arbiters, one arbiter per core.
//!
//! The calling thread takes the frames; the actors never wait for it, except that global virtual time is held
//! back when it falls far behind, so that memory stays bounded.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use actix::prelude::*;
use crossbeam::channel::{self, Receiver, RecvTimeoutError, Sender};

use super::crowd::{Commons, FrameFeed, Tuning, tally};
use super::{RunError, Tally};
use crate::entity::{Deliver, EntityActor, GiveAccount, StepNow, TableAnswer};
use crate::frame::Frame;
use crate::ids::BodyId;
use crate::physics::World;
use crate::protocol::{EntityId, Plan, Stats, Written};
use crate::time::Tick;
use crate::tvht::{BucketActor, Lane, LetGo, Search, Ticket};

/// Frames that may be settled but not yet taken.
const FRAMES_AHEAD: u64 = 256;
/// If nothing at all happens for this long, something is wrong.
const STALL: Duration = Duration::from_secs(30);

/// How long an actor may take to give account of itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why a run ended before its time.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// A handler panicked.
    Panic { body: BodyId, tick: Tick, text: String },
    /// A bucket panicked.
    Bucket { number: u32 },
}

/// What the thread that takes the frames is told.
enum News {
    /// Global virtual time has risen.
    Gvt,
    /// Everybody is done, or the run is being ended.
    Over,
}

/// One arbiter and those of its entities that wait for global virtual time.
struct Seat {
    arbiter: ArbiterHandle,
    waiting: Mutex<BTreeMap<Tick, Vec<EntityId>>>,
    steps: AtomicU64,
}

/// What all actors share.
pub(crate) struct Runtime {
    pub commons: Commons,
    addresses: OnceLock<Box<[Addr<EntityActor>]>>,
    /// The buckets, if they are actors.
    buckets: OnceLock<Box<[Addr<BucketActor>]>>,
    seats: OnceLock<Vec<Seat>>,
    news: Sender<News>,
    done: AtomicU32,
    ending: AtomicBool,
    trouble: Mutex<Option<Trouble>>,
}

impl Runtime {
    /// Whether handlers should do nothing any more.
    pub fn is_ending(&self) -> bool {
        self.ending.load(SeqCst)
    }

    /// Ends the run.
    pub fn end(&self, trouble: Option<Trouble>) {
        if let Some(trouble) = trouble {
            lock(&self.trouble).get_or_insert(trouble);
        }
        self.ending.store(true, SeqCst);
        let _ = self.news.send(News::Over);
    }

    pub fn send(&self, to: EntityId, message: Deliver) {
        self.addresses()[to.0 as usize].do_send(message);
    }

    pub fn nudge(&self, id: EntityId) {
        self.addresses()[id.0 as usize].do_send(StepNow);
    }

    /// Writes a plan into the table. `None` if the answer will come as a message.
    pub fn write(&self, plan: Plan<World>, gvt: Tick) -> Option<(Plan<World>, Written<World>)> {
        let Commons { world, grid, table, .. } = &self.commons;
        if self.buckets.get().is_none() {
            return Some(table.write(world, plan, gvt));
        }
        self.pass_on(Ticket::new(Search::new(grid, &**world, plan, gvt)));
        None
    }

    /// Sends a ticket to the bucket it wants next.
    pub fn pass_on(&self, ticket: Ticket) {
        let number = ticket.wants().expect("invariant: a plan covers at least one cell");
        self.buckets()[number as usize].do_send(ticket);
    }

    pub fn let_go(&self, number: u32) {
        self.buckets()[number as usize].do_send(LetGo);
    }

    /// Answers a plan that has been through all its buckets.
    pub fn answer(&self, plan: Plan<World>, written: Written<World>) {
        self.addresses()[plan.entity.0 as usize].do_send(TableAnswer { plan, written });
    }

    pub fn stepped(&self, arbiter: usize) {
        self.seats()[arbiter].steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// Registers an entity that waits for global virtual time to reach `tick`. Says no if that has happened: the
    /// time is read again after registering, so that no wake-up is lost.
    pub fn wait(&self, arbiter: usize, id: EntityId, tick: Tick) -> bool {
        let mut waiting = lock(&self.seats()[arbiter].waiting);
        waiting.entry(tick).or_default().push(id);
        if self.commons.counters.gvt() < tick {
            return true;
        }
        if let Some(waiters) = waiting.get_mut(&tick) {
            waiters.retain(|waiter| *waiter != id);
        }
        false
    }

    /// Looks whether global virtual time can rise; wakes those who waited for it.
    pub fn advance(&self) {
        let Some(gvt) = self.commons.counters.advance() else { return };
        let _ = self.news.send(News::Gvt);
        for seat in self.seats() {
            let mut woken: Vec<EntityId> = Vec::new();
            {
                let mut waiting = lock(&seat.waiting);
                while let Some(entry) = waiting.first_entry().filter(|entry| *entry.key() <= gvt) {
                    woken.extend(entry.remove());
                }
            }
            if !woken.is_empty() {
                // One wake-up for the arbiter, which then wakes its own.
                let addresses: Vec<Addr<EntityActor>> =
                    woken.iter().map(|id| self.addresses()[id.0 as usize].clone()).collect();
                seat.arbiter.spawn_fn(move || {
                    for address in addresses {
                        address.do_send(StepNow);
                    }
                });
            }
        }
    }

    /// One more entity is done. When all are, nothing is on its way: every message is owed by somebody.
    pub fn one_done(&self) {
        if self.done.fetch_add(1, SeqCst) + 1 == self.commons.crews.len() as u32 {
            self.end(None);
        }
    }

    /// An entity that was done has been told something.
    pub fn not_done(&self) {
        self.done.fetch_sub(1, SeqCst);
    }

    fn buckets(&self) -> &[Addr<BucketActor>] {
        self.buckets.get().expect("invariant: only the message lane sends tickets")
    }

    fn addresses(&self) -> &[Addr<EntityActor>] {
        self.addresses.get().expect("invariant: nobody moves before everybody has an address")
    }

    fn seats(&self) -> &[Seat] {
        self.seats.get().expect("invariant: arbiters come before actors")
    }

    fn steps(&self) -> u64 {
        self.seats.get().map_or(0, |seats| seats.iter().map(|seat| seat.steps.load(SeqCst)).sum())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the world to its last tick on `cores` arbiters, or until `sink` breaks.
pub fn run(
    world: &Arc<World>,
    tuning: &Tuning,
    cores: usize,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<(Tally, Stats), RunError> {
    let (news, heard) = channel::unbounded();
    let runtime = Arc::new(Runtime {
        commons: Commons::new(world.clone(), tuning),
        addresses: OnceLock::new(),
        buckets: OnceLock::new(),
        seats: OnceLock::new(),
        news,
        done: AtomicU32::new(0),
        ending: AtomicBool::new(false),
        trouble: Mutex::new(None),
    });
    let stage = {
        let runtime = runtime.clone();
        let name = "anachron-stage".to_owned();
        let lane = tuning.lane;
        thread::Builder::new().name(name).spawn(move || stage(&runtime, cores.max(1), lane))
    };
    let stage = stage.map_err(|error| RunError::NoThread(error.to_string()))?;
    let mut feed = FrameFeed::new();
    let flow = take_frames(&runtime, &heard, &mut feed, sink);
    runtime.end(None);
    let accounts =
        stage.join().map_err(|_| RunError::Stalled("the thread of the arbiters panicked".into()))?;
    match lock(&runtime.trouble).take() {
        Some(Trouble::Panic { body, tick, text }) => return Err(RunError::Panicked { body, tick, text }),
        Some(Trouble::Bucket { number }) => {
            return Err(RunError::Stalled(format!("bucket {number} panicked")));
        }
        None => feed.trouble()?,
    }
    let flow = flow.map_err(|()| RunError::Stalled(describe(&accounts, world.time.last_tick)))?;
    let mut stats = Stats::default();
    for (account, _) in &accounts {
        stats.add(account);
    }
    let ticks = if flow.is_continue() { world.time.last_tick } else { runtime.commons.counters.gvt() };
    Ok((tally(&stats, ticks), stats))
}

/// Hands out frames until the run is over. An error if nothing happens any more.
fn take_frames(
    runtime: &Runtime,
    heard: &Receiver<News>,
    feed: &mut FrameFeed,
    sink: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, ()> {
    let commons = &runtime.commons;
    let ahead = FRAMES_AHEAD * u64::from(commons.world.time.ticks_per_frame) + commons.limits.window;
    let mut steps_before = u64::MAX;
    commons.counters.set_ceiling(ahead.min(commons.limits.last_tick));
    loop {
        let news = heard.recv_timeout(STALL);
        let gvt = commons.counters.gvt();
        if feed.emit(commons, gvt, sink).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        match news {
            Ok(News::Gvt) => {
                commons.counters.set_ceiling((gvt + ahead).min(commons.limits.last_tick));
                if runtime.seats.get().is_some() {
                    runtime.advance();
                }
            }
            Ok(News::Over) => {
                // Everybody may have been done before the last frames were taken.
                commons.counters.set_ceiling(commons.limits.last_tick);
                let gvt = commons.counters.advance().unwrap_or(gvt);
                return Ok(feed.emit(commons, gvt, sink));
            }
            Err(RecvTimeoutError::Timeout) if runtime.steps() != steps_before => {
                steps_before = runtime.steps()
            }
            Err(_) => return Err(()),
        }
    }
}

/// Ends the run when the stage is left, by whatever door: nobody is to wait for actors that are gone.
struct EndOnDrop(Arc<Runtime>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// The thread that owns the actor system: starts arbiters and actors, waits for the end, and collects accounts.
fn stage(runtime: &Arc<Runtime>, cores: usize, lane: Lane) -> Vec<(Stats, String)> {
    let _whatever_happens = EndOnDrop(runtime.clone());
    let system = System::new();
    system.block_on(async {
        let arbiters: Vec<Arbiter> = (0..cores).map(|_| Arbiter::new()).collect();
        let seat = |arbiter: &Arbiter| Seat {
            arbiter: arbiter.handle(),
            waiting: Mutex::default(),
            steps: AtomicU64::new(0),
        };
        let _ = runtime.seats.set(arbiters.iter().map(seat).collect());
        if lane == Lane::Actors {
            start_buckets(runtime, &arbiters).await;
        }
        start_entities(runtime, &arbiters).await;
        while !runtime.is_ending() {
            actix::clock::sleep(Duration::from_millis(1)).await;
        }
        let finished = lock(&runtime.trouble).is_none()
            && runtime.done.load(SeqCst) == runtime.commons.crews.len() as u32;
        let mut accounts = Vec::with_capacity(runtime.commons.crews.len());
        let mut all_answer = true;
        for address in runtime.addresses() {
            match actix::clock::timeout(PATIENCE, address.send(GiveAccount { finished })).await {
                Ok(Ok(account)) => accounts.push(account),
                Ok(Err(_)) => {}
                // A handler that does not return: neither does its arbiter. It is left behind.
                Err(_) => {
                    all_answer = false;
                    break;
                }
            }
        }
        for arbiter in &arbiters {
            arbiter.stop();
        }
        for arbiter in arbiters.into_iter().filter(|_| all_answer) {
            let _ = arbiter.join();
        }
        accounts
    })
}

/// Starts every entity on its arbiter, neighbours together, and sets them going when all have an address.
async fn start_entities(runtime: &Arc<Runtime>, arbiters: &[Arbiter]) {
    let entities: Vec<_> = runtime.commons.entities().into_iter().enumerate().collect();
    let shared = runtime.clone();
    let actor = move |entity, arbiter| EntityActor::new(entity, shared.clone(), arbiter);
    let _ = runtime.addresses.set(start_all(entities, arbiters, actor).await);
    for address in runtime.addresses() {
        address.do_send(StepNow);
    }
}

/// Starts the buckets as actors.
async fn start_buckets(runtime: &Arc<Runtime>, arbiters: &[Arbiter]) {
    let numbers: Vec<_> =
        (0..runtime.commons.grid.buckets()).map(|number| (number as usize, number)).collect();
    let shared = runtime.clone();
    let actor = move |number, _| BucketActor::new(number, shared.clone());
    let _ = runtime.buckets.set(start_all(numbers, arbiters, actor).await);
}

/// Starts actors in equal shares on the arbiters, and returns their addresses in order.
async fn start_all<T, A>(
    parts: Vec<(usize, T)>,
    arbiters: &[Arbiter],
    actor: impl Fn(T, usize) -> A + Clone + Send + 'static,
) -> Box<[Addr<A>]>
where
    T: Send + 'static,
    A: Actor<Context = Context<A>>,
{
    let count = parts.len();
    let share = count.div_ceil(arbiters.len()).max(1);
    let (give, take) = channel::unbounded();
    let mut parts = parts.into_iter();
    for (at, arbiter) in arbiters.iter().enumerate() {
        let part: Vec<_> = parts.by_ref().take(share).collect();
        let (give, actor) = (give.clone(), actor.clone());
        arbiter.spawn_fn(move || {
            for (number, what) in part {
                let _ = give.send((number, actor(what, at).start()));
            }
        });
    }
    drop(give);
    let mut addresses: Vec<(usize, Addr<A>)> = Vec::with_capacity(count);
    while addresses.len() < count {
        match take.try_recv() {
            Ok(address) => addresses.push(address),
            Err(channel::TryRecvError::Empty) => actix::clock::sleep(Duration::from_micros(200)).await,
            Err(channel::TryRecvError::Disconnected) => break,
        }
    }
    addresses.sort_by_key(|(number, _)| *number);
    addresses.into_iter().map(|(_, address)| address).collect()
}

/// Where some of them stand, for the message of an impossible end.
fn describe(accounts: &[(Stats, String)], last_tick: Tick) -> String {
    let shown: Vec<&str> = accounts.iter().take(12).map(|(_, account)| account.as_str()).collect();
    format!("nothing moves any more before tick {last_tick}: {}", shown.join("; "))
}
