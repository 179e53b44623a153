//! The properties of the protocol, and how each is checked.

use std::fmt;

use crate::base::time::Tick;
use crate::protocol::GvtService;
use crate::protocol::{Entity, Fault, Message};
use crate::verify::config::ModelConfig;
use crate::verify::state::{Envelope, ModelState};
use crate::verify::transition::guarded;

/// Something that must hold in every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// When nothing can happen any more, every entity is at the last tick, waits for nothing, and GVT is there too.
    NoDeadlock,
    /// Every committed state is that of the reference at that tick, and so is the number of contacts.
    CommittedIsReference,
    /// GVT never falls, and no LVT is below it.
    GvtIsKept,
    /// No LVT is more than the window, and the ticks that are kept open for late inputs, above GVT.
    WindowIsKept,
    /// No entity receives an event for a contact that it knows.
    AnnouncedOnce,
    /// At the end no bucket is locked, and no request waits for one.
    LocksReturned,
    /// No message is about a tick below GVT.
    PastIsSettled,
    /// By the conservative rule no region is rolled back.
    ConservativeIsKept,
    /// Where no message is under way, a region believes what it was told last.
    ToldIsBelieved,
    /// No handler panics.
    NoPanic,
    /// No state can be reached from itself: every schedule ends.
    EveryWayEnds,
}

impl Property {
    /// All properties.
    pub(crate) const ALL: [Property; 11] = [
        Property::NoDeadlock,
        Property::CommittedIsReference,
        Property::GvtIsKept,
        Property::WindowIsKept,
        Property::AnnouncedOnce,
        Property::LocksReturned,
        Property::PastIsSettled,
        Property::ConservativeIsKept,
        Property::ToldIsBelieved,
        Property::NoPanic,
        Property::EveryWayEnds,
    ];

    /// Whether entities are checked for it.
    pub(crate) fn is_of_entities(self) -> bool {
        !matches!(self, Property::ConservativeIsKept | Property::ToldIsBelieved)
    }

    /// Whether regions are checked for it.
    pub(crate) fn is_of_regions(self) -> bool {
        !matches!(self, Property::AnnouncedOnce | Property::LocksReturned)
    }

    /// The name of the property, in words.
    pub fn name(self) -> &'static str {
        match self {
            Property::NoDeadlock => "no deadlock",
            Property::CommittedIsReference => "committed == reference",
            Property::GvtIsKept => "GVT never falls and no LVT falls below it",
            Property::WindowIsKept => "no LVT is beyond the window",
            Property::AnnouncedOnce => "a contact is announced exactly once",
            Property::LocksReturned => "no lock leaks",
            Property::PastIsSettled => "nothing below GVT is needed",
            Property::ConservativeIsKept => "a conservative region is never rolled back",
            Property::ToldIsBelieved => "a region believes what it was told last",
            Property::NoPanic => "no handler panics",
            Property::EveryWayEnds => "every schedule ends",
        }
    }
}

/// A violation of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property that does not hold.
    pub property: Property,
    /// What is wrong, in words.
    pub how: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property.name(), self.how)
    }
}

impl ModelState {
    /// Checks everything that must hold after an action in a state with GVT `before`.
    pub(super) fn check(&mut self, config: &ModelConfig, before: Tick) -> Result<(), Violation> {
        let violation = |property, how: String| Err(Violation { property, how });
        let gvt = self.lvt_histogram.gvt();
        if gvt < before {
            return violation(Property::GvtIsKept, format!("GVT fell from {before} to {gvt}"));
        }
        let below = |entity: &&Entity<_>| !entity.is_retired() && entity.lvt() < gvt;
        if let Some(entity) = self.drivers.iter().map(|driver| driver.entity()).find(below) {
            let how = format!("the LVT of {} is {}, and GVT is {gvt}", entity.id(), entity.lvt());
            return violation(Property::GvtIsKept, how);
        }
        self.validate(config)?;
        for ((from, to), envelopes) in &self.channels {
            let ticks = envelopes.iter().filter_map(|envelope| envelope.tick());
            if let Some(tick) = ticks.into_iter().find(|tick| *tick < gvt) {
                let how = format!("a message from {from} to {to} is about tick {tick}, and GVT is {gvt}");
                return violation(Property::PastIsSettled, how);
            }
        }
        if let Some(entity) = self
            .drivers
            .iter()
            .map(|driver| driver.entity())
            .find(|entity| entity.stats().repeated_events > 0)
        {
            let how = format!("{} received an event for a contact that it knows", entity.id());
            return violation(Property::AnnouncedOnce, how);
        }
        for tick in before + 1..=gvt {
            self.compare(config, tick)?;
        }
        // The lowest may always go on, by one tick; and the first flight of a spawned entity is one tick beyond its pin.
        let highest = gvt + config.history_ticks + config.limits.window.max(1);
        let beyond =
            |entity: &&Entity<_>| entity.lvt() > highest + u64::from(entity.id().0 >= config.entities());
        if let Some(entity) = self.drivers.iter().map(|driver| driver.entity()).find(beyond) {
            let how = format!("the LVT of {} is {}, and GVT is {gvt}", entity.id(), entity.lvt());
            return violation(Property::WindowIsKept, how);
        }
        Ok(())
    }

    /// Checks the invariants of entities, histories and buckets. A deliberate fault may break them: then the properties
    /// are to show it.
    fn validate(&self, config: &ModelConfig) -> Result<(), Violation> {
        if config.toy.fault != Fault::None {
            return Ok(());
        }
        let entities = self.drivers.iter().map(|driver| driver.entity().validate());
        let buckets = self.bucket_queues.iter().map(|queue| queue.bucket.validate());
        let broken = entities.chain(buckets).find_map(Result::err);
        broken.map_or(Ok(()), |how| Err(Violation { property: Property::NoPanic, how }))
    }

    /// Compares what is committed at a tick with the reference, and drops paths that no later tick needs.
    pub(super) fn compare(&mut self, config: &ModelConfig, tick: Tick) -> Result<(), Violation> {
        let reference_run = config.reference_run(self.admitted);
        let mut found = Vec::new();
        for (body, paths) in self.log.iter_mut().enumerate() {
            let later = paths.partition_point(|(from, _)| *from <= tick);
            if later > 1 {
                std::sync::Arc::make_mut(paths).drain(..later - 1);
            }
            if let Some((_, Some(path))) = paths.first().filter(|(from, _)| *from <= tick) {
                found.push((body as u32, path.position_at(tick), path.number));
            }
        }
        let expected = &reference_run.positions[tick as usize];
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

    /// Whether a terminal state, in which nothing can happen any more, has no violation.
    pub fn ended_well(&self, config: &ModelConfig) -> bool {
        self.check_end(config).is_ok()
    }

    /// Checks a terminal state.
    pub(super) fn check_end(&self, config: &ModelConfig) -> Result<(), Violation> {
        guarded(|| self.check_terminal(config))
    }

    fn check_terminal(&self, config: &ModelConfig) -> Result<(), Violation> {
        let violation = |property, how: String| Err(Violation { property, how });
        for (number, bucket_queue) in self.bucket_queues.iter().enumerate() {
            if bucket_queue.is_held() || !bucket_queue.queue().is_empty() {
                let how = format!(
                    "bucket {number} is locked, and {} requests wait for it",
                    bucket_queue.queue().len()
                );
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
                "nothing can happen, and {} waits for ever at tick {} ({}, {} acknowledgements pending; GVT {gvt})",
                entity.id(),
                entity.lvt(),
                entity.phase(),
                entity.pending_ack_count()
            );
            return violation(Property::NoDeadlock, how);
        }
        if gvt != config.limits.last_tick {
            let how = format!("every entity is done, and GVT is {gvt}");
            return violation(Property::NoDeadlock, how);
        }
        let mut committed = (0, 0);
        for driver in &self.drivers {
            let stats = (**driver).clone().finish(&config.toy);
            committed = (committed.0 + stats.contact_ticks, committed.1 + stats.contacts);
        }
        let expected = config.reference_run(self.admitted).contacts;
        if committed != expected {
            let how =
                format!("{committed:?} contacts and new contacts were committed instead of {expected:?}");
            return violation(Property::CommittedIsReference, how);
        }
        Ok(())
    }
}

impl Envelope {
    /// The tick that it is about, if it can cause a rollback.
    fn tick(&self) -> Option<Tick> {
        match self {
            Envelope::Message(Message::Migrate { tick, .. }) => Some(*tick),
            Envelope::Message(message) => message.at().map(|at| at.tick),
            Envelope::Input { tick, .. } => Some(*tick),
            Envelope::Request(_) | Envelope::Reply(..) | Envelope::Unlock | Envelope::Count(..) => None,
        }
    }
}
