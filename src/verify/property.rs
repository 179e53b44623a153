//! What the protocol promises, and how each property is checked.

use std::fmt;

use crate::base::time::Tick;
use crate::protocol::GvtService;
use crate::protocol::{Entity, Message};
use crate::verify::config::ModelConfig;
use crate::verify::state::{Envelope, ModelState};
use crate::verify::transition::guarded;

/// Something that must hold in every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// When nothing can happen any more, everybody is at the last tick and nobody waits for anything.
    NoDeadlock,
    /// Whatever is committed is what the reference has at that tick, and so is the number of contacts.
    CommittedIsReference,
    /// Global virtual time never falls, and nobody is ever below it.
    GvtIsKept,
    /// Nobody is told of a contact that he knows.
    AnnouncedOnce,
    /// At the end no bucket is held, and nobody waits for one.
    LocksReturned,
    /// No message is about a tick below global virtual time.
    PastIsSettled,
    /// No handler meets what it holds impossible.
    NoPanic,
    /// No state comes again: every way ends.
    EveryWayEnds,
}

impl Property {
    /// All there are.
    pub const ALL: [Property; 8] = [
        Property::NoDeadlock,
        Property::CommittedIsReference,
        Property::GvtIsKept,
        Property::AnnouncedOnce,
        Property::LocksReturned,
        Property::PastIsSettled,
        Property::NoPanic,
        Property::EveryWayEnds,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Property::NoDeadlock => "no deadlock",
            Property::CommittedIsReference => "committed == reference",
            Property::GvtIsKept => "GVT never falls and no LVT falls below it",
            Property::AnnouncedOnce => "a contact is announced exactly once",
            Property::LocksReturned => "no lock leaks",
            Property::PastIsSettled => "nothing below GVT is needed",
            Property::NoPanic => "no handler panics",
            Property::EveryWayEnds => "every schedule ends",
        }
    }
}

/// A property that was violation, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// How.
    pub how: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property.name(), self.how)
    }
}

impl ModelState {
    /// Checks everything that must hold after a move from a state with this global virtual time.
    pub(super) fn check(&mut self, config: &ModelConfig, before: Tick) -> Result<(), Violation> {
        let violation = |property, how: String| Err(Violation { property, how });
        let gvt = self.lvt_histogram.gvt();
        if gvt < before {
            return violation(Property::GvtIsKept, format!("it fell from {before} to {gvt}"));
        }
        let below = |entity: &&Entity<_>| !entity.is_retired() && entity.lvt() < gvt;
        if let Some(entity) = self.drivers.iter().map(|driver| driver.entity()).find(below) {
            let how = format!("{} is at {}, and global virtual time is {gvt}", entity.id(), entity.lvt());
            return violation(Property::GvtIsKept, how);
        }
        for ((from, to), mail) in &self.channels {
            if let Some(tick) = mail.iter().filter_map(|mail| mail.tick()).find(|tick| *tick < gvt) {
                let how = format!(
                    "a message from {from} to {to} is about tick {tick}, and global virtual time is {gvt}"
                );
                return violation(Property::PastIsSettled, how);
            }
        }
        if let Some(entity) = self
            .drivers
            .iter()
            .map(|driver| driver.entity())
            .find(|entity| entity.stats().repeated_events > 0)
        {
            let how = format!("{} was told of a contact twice, or told twice of one it met", entity.id());
            return violation(Property::AnnouncedOnce, how);
        }
        for tick in before + 1..=gvt {
            self.compare(config, tick)?;
        }
        Ok(())
    }

    /// Compares what is committed at a tick with the reference, and forgets what no later tick needs.
    pub(super) fn compare(&mut self, config: &ModelConfig, tick: Tick) -> Result<(), Violation> {
        let truth = config.truth(self.let_in);
        let mut found = Vec::new();
        for (body, paths) in self.log.iter_mut().enumerate() {
            let later = paths.partition_point(|(from, _)| *from <= tick);
            if later > 1 {
                std::sync::Arc::make_mut(paths).drain(..later - 1);
            }
            if let Some((_, Some(path))) = paths.first().filter(|(from, _)| *from <= tick) {
                found.push((body as u32, path.place_at(tick), path.number));
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
        Err(Violation { property: Property::CommittedIsReference, how })
    }

    /// Whether a state in which nothing can happen any more is as it should be.
    pub fn ended_well(&self, config: &ModelConfig) -> bool {
        self.check_end(config).is_ok()
    }

    /// Checks a state in which nothing can happen any more.
    pub(super) fn check_end(&self, config: &ModelConfig) -> Result<(), Violation> {
        guarded(|| self.look_at_end(config))
    }

    fn look_at_end(&self, config: &ModelConfig) -> Result<(), Violation> {
        let violation = |property, how: String| Err(Violation { property, how });
        for (number, bucket_queue) in self.bucket_queues.iter().enumerate() {
            if bucket_queue.is_held() || !bucket_queue.queue().is_empty() {
                let how = format!("bucket {number} is held, and {} wait for it", bucket_queue.queue().len());
                let is_over = self
                    .drivers
                    .iter()
                    .map(|driver| driver.entity())
                    .all(|entity| entity.is_done(&config.limits));
                return violation(if is_over { Property::LocksReturned } else { Property::NoDeadlock }, how);
            }
        }
        let gvt = self.lvt_histogram.gvt();
        let waits = |entity: &&Entity<_>| !entity.is_done(&config.limits);
        if let Some(entity) = self.drivers.iter().map(|driver| driver.entity()).find(waits) {
            let how = format!(
                "nothing can happen, and {} waits for ever at tick {} ({}, {} answers outstanding; global \
                 virtual time {gvt})",
                entity.id(),
                entity.lvt(),
                entity.phase(),
                entity.pending_ack_count()
            );
            return violation(Property::NoDeadlock, how);
        }
        if gvt != config.limits.last_tick {
            let how = format!("everybody is done, and global virtual time is {gvt}");
            return violation(Property::NoDeadlock, how);
        }
        let mut seen = (0, 0);
        for driver in &self.drivers {
            let stats = (**driver).clone().finish(&config.toy);
            seen = (seen.0 + stats.contact_ticks, seen.1 + stats.contacts);
        }
        let expected = config.truth(self.let_in).touches;
        if seen != expected {
            let how = format!("{seen:?} contacts and new contacts were committed instead of {expected:?}");
            return violation(Property::CommittedIsReference, how);
        }
        Ok(())
    }
}

impl Envelope {
    /// The tick it is about, if it can change what was.
    fn tick(&self) -> Option<Tick> {
        match self {
            Envelope::Message(Message::Migrate { tick, .. }) => Some(*tick),
            Envelope::Message(message) => message.at().map(|at| at.tick),
            Envelope::ToyInput { tick, .. } => Some(*tick),
            Envelope::Request(_) | Envelope::Reply(..) | Envelope::Unlock | Envelope::Count(..) => None,
        }
    }
}
