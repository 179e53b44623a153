//! One state of what is played, and what can happen next.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::{Bucket, Entity, EntityId, Message, Outbox, Place, Plan, Track, Written};
use crate::protocol::{Keeper, Ticket};
use crate::runtime::directory::EntityDirectory;
use crate::runtime::lvt_histogram::Counters;
use crate::verify::config::{Cue, Grain, Setting};
use crate::verify::property::Broken;
use crate::verify::toy_model::{Act, Course, Tiny};
use crate::verify::trace::Notes;
use crate::verify::transition::in_order;

/// Who sends or gets something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seat {
    /// An entity.
    Entity(EntityId),
    /// A bucket of the message lane.
    Bucket(u32),
    /// Whoever acts from outside.
    Outside,
    /// Who moves the counters, if that is done by messages, which it must not be.
    Clerk,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seat::Entity(id) => write!(f, "{id}"),
            Seat::Bucket(number) => write!(f, "bucket {number}"),
            Seat::Outside => f.write_str("outside"),
            Seat::Clerk => f.write_str("the clerk"),
        }
    }
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// The oldest message between two is handed over.
    Deliver {
        /// Who sent it.
        from: Seat,
        /// Who gets it.
        to: Seat,
    },
    /// An entity does what it may.
    Step(EntityId),
    /// A plan goes into the shared table.
    Write(EntityId),
    /// The next of the things that a handler wants done is done.
    Effect(EntityId),
    /// The next thing comes from outside.
    Cue,
}

/// Something on its way.
#[derive(Clone)]
pub(super) enum Mail {
    Letter(Message<Tiny>),
    Act { held: Tick, tick: Tick, number: u64, act: Act },
    Ticket(Ticket<Tiny>),
    Answer(Plan<Tiny>, Written<Tiny>),
    LetGo,
    Count(Option<Tick>, Option<Tick>),
}

/// A plan, and global virtual time when it was made.
pub(super) type Planned = (Plan<Tiny>, Tick);

/// A track in the table.
type Shared = Arc<Track<Tiny>>;

/// Something that a handler wants done.
#[derive(Clone)]
pub(super) enum Effect {
    Enter(Tick),
    Leave(Tick),
    Send(Seat, Box<Mail>),
    Advance,
}

/// Courses of a body and when each begins; nothing from where it is no more.
pub(super) type Log = Vec<(Tick, Option<Course>)>;

/// One state.
#[derive(Clone)]
pub struct Play {
    pub(super) entities: Vec<Arc<Entity<Tiny>>>,
    /// The buckets: with tickets in the message lane, without in the shared one.
    pub(super) keepers: Vec<Arc<Keeper<Tiny>>>,
    pub(super) counters: Counters,
    pub(super) channels: BTreeMap<(Seat, Seat), VecDeque<Arc<Mail>>>,
    /// Who may have something to do.
    pub(super) ready: Vec<bool>,
    /// Who waits for the lowest to reach a tick.
    pub(super) waiting: Vec<Option<Tick>>,
    /// Plans that have been made and not been written yet.
    pub(super) plans: Vec<Option<Arc<Planned>>>,
    /// What handlers want done.
    pub(super) effects: Vec<VecDeque<Arc<Effect>>>,
    pub(super) log: Vec<Arc<Log>>,
    /// The entity each body was born in.
    pub(super) births: Vec<EntityId>,
    /// Things that have come from outside.
    pub(super) cued: usize,
    /// Which of them were let in.
    pub(super) let_in: u64,
    /// What entities know of each other, if they regroup by themselves.
    pub(super) circle: Option<Arc<EntityDirectory>>,
    pub(super) broken: Option<Broken>,
}

impl Play {
    /// The beginning.
    pub fn new(setting: &Setting) -> Self {
        let start = setting.tiny.start();
        let crews: Vec<Vec<(Place, Course)>> = start.chunks(setting.cluster).map(<[_]>::to_vec).collect();
        let count = crews.len();
        let sizes = || crews.iter().map(|crew| Some(crew.len()));
        let circle = setting.regroups.map(|largest| Arc::new(EntityDirectory::new(sizes(), largest)));
        let births = crews.iter().zip(0..).flat_map(|(crew, id)| crew.iter().map(move |_| EntityId(id)));
        let births = births.collect();
        let entity = |(id, crew): (u32, Vec<(Place, Course)>)| {
            Arc::new(Entity::new(EntityId(id), crew.into()).with_fault(setting.tiny.fault))
        };
        Play {
            entities: (0..).zip(crews).map(entity).collect(),
            keepers: (0..setting.buckets).map(|number| Arc::new(Keeper::new(number))).collect(),
            counters: Counters::new(
                count as u32,
                setting.limits.window,
                setting.history,
                setting.limits.last_tick,
            ),
            channels: BTreeMap::new(),
            ready: vec![true; count],
            waiting: vec![None; count],
            plans: vec![None; count],
            effects: vec![VecDeque::new(); count],
            log: start.iter().map(|(_, course)| Arc::new(vec![(0, Some(*course))])).collect(),
            births,
            cued: 0,
            let_in: 0,
            circle,
            broken: None,
        }
    }

    /// The promise that was broken on the way here.
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// How far it has come.
    pub fn gvt(&self) -> Tick {
        self.counters.gvt()
    }

    /// Everything that can happen next.
    pub fn moves(&self, setting: &Setting, moves: &mut Vec<Move>) {
        moves.clear();
        if self.broken.is_some() {
            return;
        }
        for (from, to) in self.channels.keys().copied() {
            if !matches!(to, Seat::Entity(id) if self.is_busy(id)) {
                moves.push(Move::Deliver { from, to });
            }
        }
        for at in 0..self.entities.len() {
            let id = EntityId(at as u32);
            if self.plans[at].is_some() {
                moves.push(Move::Write(id));
            } else if !self.effects[at].is_empty() {
                moves.push(Move::Effect(id));
            } else if self.may_step(at) {
                moves.push(Move::Step(id));
            }
        }
        if self.can_cue(setting) {
            moves.push(Move::Cue);
        }
    }

    /// Whether an entity is in the middle of a handler.
    fn is_busy(&self, id: EntityId) -> bool {
        let at = id.0 as usize;
        self.plans[at].is_some() || !self.effects[at].is_empty()
    }

    /// Whether a step would not end at once because of what is owed. Such a step would change nothing.
    fn may_step(&self, at: usize) -> bool {
        self.ready[at] && self.entities[at].is_free()
    }

    /// An answer that changes nothing and can arrive.
    pub(super) fn prompt_answer(&self) -> Option<Move> {
        let prompt = self.channels.iter().find(|((_, to), mail)| {
            let is_free = !matches!(to, Seat::Entity(id) if self.is_busy(*id));
            is_free && mail.front().is_some_and(changes_nothing)
        });
        prompt.map(|((from, to), _)| Move::Deliver { from: *from, to: *to })
    }

    fn can_cue(&self, setting: &Setting) -> bool {
        match setting.script.get(self.cued) {
            None => false,
            Some(Cue::Act { .. }) => true,
            Some(Cue::HandOver { from, bodies, .. }) => {
                let Some(giver) = self.entities.get(from.0 as usize) else { return false };
                let has = bodies.iter().any(|body| giver.members().contains(body));
                has && !self.is_busy(*from) && giver.can_hand_over(self.counters.gvt())
            }
        }
    }

    /// The state after a move. What it shares with this one stays as it is.
    pub fn after(&self, setting: &Setting, next: Move) -> Play {
        let mut play = self.parted(next);
        play.make(setting, next, &mut Notes::off());
        play
    }

    /// Makes a move in place, as an executor does.
    pub fn go(&mut self, setting: &Setting, next: Move) {
        self.make(setting, next, &mut Notes::off());
    }

    /// A copy in which a move can be made without changing this one.
    pub(super) fn parted(&self, next: Move) -> Play {
        let mut play = self.clone();
        play.part(self.counters.gvt(), next);
        play
    }

    /// Gives the one who moves tracks of its own, so that cutting them does not change other states. Puts the
    /// buckets in order on the way, and drops what nobody will look at: what comes is the same for all states that
    /// differ only in that.
    fn part(&mut self, gvt: Tick, next: Move) {
        let mut parted: Vec<(Shared, Shared)> = Vec::new();
        let mut part = |track: &mut Shared| {
            // Segments of one step share a track.
            let known = parted.iter().find(|(old, _)| Arc::ptr_eq(old, track)).map(|(_, new)| new.clone());
            let apart = known.unwrap_or_else(|| {
                let apart = Arc::new(track.apart());
                parted.push((track.clone(), apart.clone()));
                apart
            });
            *track = apart;
        };
        match next {
            Move::Deliver { from, to } => {
                let first = self.channels.get(&(from, to)).and_then(|mail| mail.front());
                let is_harmless = first.is_some_and(changes_nothing);
                if let Some(mail) = self.channels.get_mut(&(from, to)).and_then(|mail| mail.front_mut()) {
                    match &**mail {
                        Mail::Ticket(_) | Mail::Answer(..) => match Arc::make_mut(mail) {
                            Mail::Ticket(ticket) => part(ticket.search.track_mut()),
                            Mail::Answer(_, written) => part(&mut written.track),
                            _ => {}
                        },
                        _ => {}
                    }
                }
                match to {
                    Seat::Entity(_) if is_harmless => {}
                    Seat::Entity(id) => {
                        Arc::make_mut(&mut self.entities[id.0 as usize]).tracks_mut().for_each(&mut part);
                    }
                    // The next in the queue may come to its turn.
                    Seat::Bucket(number) => {
                        let keeper = Arc::make_mut(&mut self.keepers[number as usize]);
                        keeper.queue_mut().for_each(|ticket| part(ticket.search.track_mut()));
                    }
                    Seat::Outside | Seat::Clerk => {}
                }
            }
            Move::Step(id) | Move::Write(id) => {
                Arc::make_mut(&mut self.entities[id.0 as usize]).tracks_mut().for_each(&mut part);
            }
            Move::Cue => {
                for entity in &mut self.entities {
                    Arc::make_mut(entity).tracks_mut().for_each(&mut part);
                }
            }
            Move::Effect(_) => return,
        }
        let looks = match next {
            Move::Step(_) | Move::Write(_) => true,
            Move::Deliver { to, .. } => matches!(to, Seat::Bucket(_)),
            Move::Effect(_) | Move::Cue => false,
        };
        for keeper in &mut self.keepers {
            let is_parted = |track: &Shared| parted.iter().any(|(old, _)| Arc::ptr_eq(old, track));
            if !looks && !keeper.bucket.entries().iter().any(|entry| is_parted(&entry.track)) {
                continue;
            }
            let mut entries: Vec<_> = keeper
                .bucket
                .entries()
                .iter()
                .filter(|entry| entry.track.end() > gvt && entry.track.end() > entry.track.first)
                .map(|entry| {
                    let apart = parted.iter().find(|(old, _)| Arc::ptr_eq(old, &entry.track));
                    entry.with(apart.map_or(&entry.track, |(_, new)| new).clone())
                })
                .collect();
            entries.sort_by_key(|entry| (*entry.cell(), order(&entry.track)));
            let mut bucket = Bucket::default();
            entries.into_iter().for_each(|entry| bucket.add(entry));
            Arc::make_mut(keeper).bucket = bucket;
        }
    }

    pub(super) fn post(&mut self, from: Seat, to: Seat, mail: Mail) {
        self.channels.entry((from, to)).or_default().push_back(Arc::new(mail));
    }

    /// Does what a handler of an entity wants done, at once or one thing after another.
    pub(super) fn want(
        &mut self,
        setting: &Setting,
        id: EntityId,
        out: &mut Outbox<Tiny>,
        held: Option<Tick>,
    ) {
        for (body, tick) in out.landed.drain(..) {
            Arc::make_mut(&mut self.log[body as usize]).retain(|(from, _)| *from <= tick);
        }
        for (body, tick, course) in out.took_off.drain(..) {
            Arc::make_mut(&mut self.log[body as usize]).push((tick, course));
        }
        let effects = in_order(setting.tiny.fault, out, held);
        match setting.grain {
            Grain::Handlers => {
                let mut gvt_may_move = false;
                for effect in effects {
                    gvt_may_move |= self.take_effect(setting, id, effect);
                }
                if gvt_may_move {
                    self.advance(setting);
                }
            }
            Grain::Effects => self.effects[id.0 as usize].extend(effects.into_iter().map(Arc::new)),
        }
    }
}

/// Whether it only says that something was heard.
fn changes_nothing(mail: &Arc<Mail>) -> bool {
    matches!(**mail, Mail::Letter(Message::Answer { refused: false, .. }))
}

/// A fixed order of the tracks in a cell.
pub(super) fn order(track: &Track<Tiny>) -> (EntityId, u32, Tick) {
    (track.entity, track.version, track.first)
}
