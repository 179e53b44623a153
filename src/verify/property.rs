//! What the protocol promises, and how each promise is checked.

use std::fmt;

use crate::base::time::Tick;
use crate::protocol::{Entity, Message};
use crate::verify::config::Setting;
use crate::verify::state::{Mail, Play};
use crate::verify::transition::guarded;

/// Something that must hold in every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// When nothing can happen any more, everybody is at the last tick and nobody waits for anything.
    NoDeadlock,
    /// Whatever is committed is what the reference has at that tick, and so is the number of contacts.
    CommittedIsReference,
    /// Global virtual time never falls, and nobody is ever below it.
    GvtIsKept,
    /// Nobody is told of a contact that he knows.
    ToldOnce,
    /// At the end no bucket is held, and nobody waits for one.
    LocksReturned,
    /// No message is about a tick below global virtual time.
    PastIsSettled,
    /// No handler meets what it holds impossible.
    NoPanic,
    /// No state comes again: every way ends.
    EveryWayEnds,
}

impl Promise {
    /// All there are.
    pub const ALL: [Promise; 8] = [
        Promise::NoDeadlock,
        Promise::CommittedIsReference,
        Promise::GvtIsKept,
        Promise::ToldOnce,
        Promise::LocksReturned,
        Promise::PastIsSettled,
        Promise::NoPanic,
        Promise::EveryWayEnds,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Promise::NoDeadlock => "no deadlock",
            Promise::CommittedIsReference => "committed == reference",
            Promise::GvtIsKept => "GVT never falls and nobody falls below it",
            Promise::ToldOnce => "a contact is told exactly once",
            Promise::LocksReturned => "no lock leaks",
            Promise::PastIsSettled => "nothing below GVT is needed",
            Promise::NoPanic => "no handler panics",
            Promise::EveryWayEnds => "every schedule ends",
        }
    }
}

/// A promise that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub promise: Promise,
    /// How.
    pub how: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise.name(), self.how)
    }
}

impl Play {
    /// Checks everything that must hold after a move from a state with this global virtual time.
    pub(super) fn check(&mut self, setting: &Setting, before: Tick) -> Result<(), Broken> {
        let broken = |promise, how: String| Err(Broken { promise, how });
        let gvt = self.counters.gvt();
        if gvt < before {
            return broken(Promise::GvtIsKept, format!("it fell from {before} to {gvt}"));
        }
        let below = |entity: &&Entity<_>| !entity.is_vacant() && entity.lvt() < gvt;
        if let Some(entity) = self.entities.iter().map(|entity| &**entity).find(below) {
            let how = format!("{} is at {}, and global virtual time is {gvt}", entity.id(), entity.lvt());
            return broken(Promise::GvtIsKept, how);
        }
        for ((from, to), mail) in &self.channels {
            if let Some(tick) = mail.iter().filter_map(|mail| mail.tick()).find(|tick| *tick < gvt) {
                let how = format!(
                    "a message from {from} to {to} is about tick {tick}, and global virtual time is {gvt}"
                );
                return broken(Promise::PastIsSettled, how);
            }
        }
        if let Some(entity) = self.entities.iter().find(|entity| entity.stats().repeated > 0) {
            let how = format!("{} was told of a contact twice, or told twice of one it met", entity.id());
            return broken(Promise::ToldOnce, how);
        }
        for tick in before + 1..=gvt {
            self.compare(setting, tick)?;
        }
        Ok(())
    }

    /// Compares what is committed at a tick with the reference, and forgets what no later tick needs.
    pub(super) fn compare(&mut self, setting: &Setting, tick: Tick) -> Result<(), Broken> {
        let truth = setting.truth(self.let_in);
        let mut found = Vec::new();
        for (body, courses) in self.log.iter_mut().enumerate() {
            let later = courses.partition_point(|(from, _)| *from <= tick);
            if later > 1 {
                std::sync::Arc::make_mut(courses).drain(..later - 1);
            }
            if let Some((_, Some(course))) = courses.first().filter(|(from, _)| *from <= tick) {
                found.push((body as u32, course.place_at(tick), course.number));
            }
        }
        let expected = &truth.places[tick as usize];
        if found == *expected {
            return Ok(());
        }
        let wrong = found.iter().find(|one| !expected.contains(one)).map(|one| one.0);
        let wrong = wrong.or_else(|| expected.iter().find(|one| !found.contains(one)).map(|one| one.0));
        let how = format!(
            "tick {tick} is committed, and body {} is not where the reference has it",
            wrong.unwrap_or(0)
        );
        Err(Broken { promise: Promise::CommittedIsReference, how })
    }

    /// Whether a state in which nothing can happen any more is as it should be.
    pub fn ended_well(&self, setting: &Setting) -> bool {
        self.check_end(setting).is_ok()
    }

    /// Checks a state in which nothing can happen any more.
    pub(super) fn check_end(&self, setting: &Setting) -> Result<(), Broken> {
        guarded(|| self.look_at_end(setting))
    }

    fn look_at_end(&self, setting: &Setting) -> Result<(), Broken> {
        let broken = |promise, how: String| Err(Broken { promise, how });
        for (number, keeper) in self.keepers.iter().enumerate() {
            if keeper.is_held() || !keeper.queue().is_empty() {
                let how = format!("bucket {number} is held, and {} wait for it", keeper.queue().len());
                let is_over = self.entities.iter().all(|entity| entity.is_done(&setting.limits));
                return broken(if is_over { Promise::LocksReturned } else { Promise::NoDeadlock }, how);
            }
        }
        let gvt = self.counters.gvt();
        let waits = |entity: &&Entity<_>| !entity.is_done(&setting.limits);
        if let Some(entity) = self.entities.iter().map(|entity| &**entity).find(waits) {
            let how = format!(
                "nothing can happen, and {} waits for ever at tick {} ({}, {} answers outstanding; global \
                 virtual time {gvt})",
                entity.id(),
                entity.lvt(),
                entity.phase(),
                entity.owes()
            );
            return broken(Promise::NoDeadlock, how);
        }
        if gvt != setting.limits.last_tick {
            let how = format!("everybody is done, and global virtual time is {gvt}");
            return broken(Promise::NoDeadlock, how);
        }
        let mut seen = (0, 0);
        for entity in &self.entities {
            let stats = (**entity).clone().finish(&setting.tiny);
            seen = (seen.0 + stats.touches, seen.1 + stats.new_touches);
        }
        let expected = setting.truth(self.let_in).touches;
        if seen != expected {
            let how = format!("{seen:?} contacts and new contacts were committed instead of {expected:?}");
            return broken(Promise::CommittedIsReference, how);
        }
        Ok(())
    }
}

impl Mail {
    /// The tick it is about, if it can change what was.
    fn tick(&self) -> Option<Tick> {
        match self {
            Mail::Letter(Message::Join { tick, .. }) => Some(*tick),
            Mail::Letter(letter) => letter.at().map(|at| at.tick),
            Mail::Act { tick, .. } => Some(*tick),
            Mail::Ticket(_) | Mail::Answer(..) | Mail::LetGo | Mail::Count(..) => None,
        }
    }
}
