//! Stepping: what an entity does next when it is polled.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::time::Tick;
use crate::protocol::driver::Next;
use crate::protocol::dynamics::BodyIndex;
use crate::protocol::dynamics::{Cluster, Dynamics, GhostToSend, PartnerKey, RemoteContact};
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Departures, Entity, Limits, PendingAck};
use crate::protocol::fault::Fault;
use crate::protocol::gvt::VirtualTimes;
use crate::protocol::history::{ContactRecord, Segment, SentGhost};
use crate::protocol::message::{At, Message, Version};

/// What an entity knows before a handler runs, as far as the handler may change it.
#[derive(Clone, Copy)]
pub(in crate::protocol) struct Knowledge {
    changes: u64,
    is_free: bool,
}

/// The bodies with their flights, and the flights that begin with them.
pub(super) type Onward<D> = (Cluster<D>, Departures);

/// The learnt window of an entity never falls below twice this many ticks. Not tuned.
pub(super) const MEAN_FREE_MIN_TICKS: u64 = 8;

impl<D: Dynamics> Entity<D> {
    /// What to do next. Responds to contacts at the LVT, and sends ghost states where they are needed.
    pub(in crate::protocol) fn step(
        &mut self,
        dynamics: &D,
        limits: &Limits,
        times: VirtualTimes,
        out: &mut Effects<D>,
    ) -> Next<D> {
        self.roll_back_late(out);
        let is_gated = !self.has(Fault::NoGate);
        if (is_gated && !self.pending_acks.is_empty()) || self.writing {
            return Next::AwaitAcks;
        }
        if self.has_no_future(times.gvt) {
            self.retire(out);
            return Next::Done;
        }
        let Some(latest) = self.history.latest() else { return self.begin(dynamics, limits, times) };
        let (lvt, lvt_min) = (latest.last, times.lvt_min);
        if lvt >= limits.last_tick {
            return Next::Done;
        }
        // What touched it a tick ago most likely still does, and will be heard of soon.
        if limits.adaptive && lvt > lvt_min && latest.misses_partner() {
            return Next::AwaitLvtMin(lvt);
        }
        if latest.touches() {
            if latest.awaits_ghosts() && !self.has(Fault::GhostNotAwaited) {
                return Next::AwaitAcks;
            }
            let has_all_ghosts = self.respond(dynamics);
            self.send_ghosts(out);
            let is_waiting = self.history.latest().is_some_and(Segment::awaits_ghosts);
            let is_gated = is_gated && !self.pending_acks.is_empty();
            if is_gated || !has_all_ghosts || is_waiting && !self.has(Fault::GhostNotAwaited) {
                return Next::AwaitAcks;
            }
        }
        let latest = self.history.latest().expect("invariant: it has written before");
        let ahead = self.contact_window_ticks(limits);
        if latest.touches() || latest.expects_contact {
            // The entity with the lowest LVT may always go on: one of them must.
            let ahead_of = lvt_min + ahead;
            if lvt > ahead_of || (self.has(Fault::GateHoldsTheLowest) && lvt == ahead_of) {
                return Next::AwaitLvtMin((lvt - ahead).max(lvt_min + 1));
            }
        }
        if let Some(tick) = self.beyond_window(limits, lvt_min) {
            return Next::AwaitLvtMin(tick);
        }
        let onward = self.onward(dynamics);
        Next::Write(self.plan(dynamics, limits, (lvt + 1, lvt_min), onward))
    }

    /// The first flight.
    fn begin(&mut self, dynamics: &D, limits: &Limits, times: VirtualTimes) -> Next<D> {
        let origin = self.origin.as_ref().expect("invariant: an entity without history has an origin");
        let (first, cluster) = (origin.first, origin.cluster.clone());
        // A body may be spawned on the way to the first tick.
        let onward = if first > self.base {
            self.with_inputs(dynamics, cluster)
        } else {
            (cluster, Departures::new())
        };
        Next::Write(self.plan(dynamics, limits, (first, times.lvt_min), onward))
    }

    /// The tick it has to wait for, if it is so far ahead that a poll would say nothing else: it touches nothing and
    /// expects nothing.
    pub(in crate::protocol) fn waits_for(&self, limits: &Limits, times: VirtualTimes) -> Option<Tick> {
        let latest = self.history.latest().filter(|latest| latest.last < limits.last_tick)?;
        if !self.is_free() {
            return None;
        }
        if limits.adaptive && latest.last > times.lvt_min && latest.misses_partner() {
            return Some(latest.last);
        }
        let is_idle = !latest.touches() && !latest.expects_contact;
        if is_idle { self.beyond_window(limits, times.lvt_min) } else { None }
    }

    /// What an executor is to do after a handler: there is something to poll for if it may go on, and could not before or
    /// knows more than before.
    pub(in crate::protocol) fn next_after(&self, before: Knowledge) -> Next<D> {
        let Knowledge { changes, is_free } = before;
        let has_news = changes != self.changes || !is_free;
        let waits = self.history.latest().is_some_and(|latest| latest.touches() && latest.awaits_ghosts());
        if self.is_faulty() || (self.is_free() && has_news && !waits) { Next::Poll } else { Next::AwaitAcks }
    }

    /// What a handler may change.
    pub(in crate::protocol) fn knowledge(&self) -> Knowledge {
        Knowledge { changes: self.changes, is_free: self.is_free() }
    }

    /// The tick it has to wait for if its next flight would leave the window.
    fn beyond_window(&self, limits: &Limits, lvt_min: Tick) -> Option<Tick> {
        let lvt = self.lvt();
        let window = self.window(limits);
        let bound = limits.last_tick.min(lvt_min + window);
        // No more than the window, or it would wait for other entities to pass it.
        let longest = limits.stride_min.min(window).min(limits.last_tick - lvt);
        let worthwhile = self.stride(limits).min(longest).max(1);
        let may_wait = lvt > lvt_min || self.has(Fault::WindowHoldsTheLowest);
        let is_beyond = lvt + worthwhile > bound && may_wait;
        is_beyond.then(|| (lvt + worthwhile - window).max(lvt_min + 1))
    }

    /// How many ticks above the lowest LVT it responds to contacts.
    fn contact_window_ticks(&self, limits: &Limits) -> u64 {
        limits.contact_window.unwrap_or(self.contact_window_ticks).min(limits.window)
    }

    /// How the bodies fly on from its LVT, and those that begin a flight with that.
    fn onward(&self, dynamics: &D) -> Onward<D> {
        let latest = self.history.latest().expect("invariant: it has written before");
        let mut cluster = latest.cluster().clone();
        let mut started = Departures::new();
        if let Some(response) = &latest.response {
            for (number, flight) in response.numbered(latest.cluster()) {
                started.push(cluster[number].0);
                cluster[number].1 = flight.clone();
            }
        }
        let (cluster, by_inputs) = self.with_inputs(dynamics, cluster);
        started.retain(|body| !by_inputs.contains(body));
        started.extend(by_inputs);
        (cluster, started)
    }

    /// The bodies after the inputs at its LVT, and those that begin a flight with them.
    fn with_inputs(&self, dynamics: &D, mut cluster: Cluster<D>) -> Onward<D> {
        let lvt = self.lvt();
        let inputs = self.inputs.get(&lvt).map_or(&[][..], Vec::as_slice);
        let mut started = Departures::new();
        if !inputs.is_empty() {
            let changed = dynamics.apply_inputs(lvt, &mut cluster, inputs);
            started.extend(changed.into_iter().map(|(body, _)| body));
        }
        (cluster, started)
    }

    /// How far it runs ahead of the lowest LVT: an entity with frequent contacts would only be rolled back.
    pub(super) fn window(&self, limits: &Limits) -> u64 {
        let window = limits.window + u64::from(self.has(Fault::WindowTooWide));
        match limits.adaptive {
            true => window.min(self.mean_free_ticks.max(MEAN_FREE_MIN_TICKS).saturating_mul(2)),
            false => window,
        }
    }

    /// How many ticks it flies at a time: one if it is held, because it will most likely be held at the next tick.
    pub(super) fn stride(&self, limits: &Limits) -> u64 {
        match limits.adaptive {
            true if self.is_held() => 1,
            true => self.stride,
            false => u64::MAX,
        }
    }

    /// Whether its contacts at the LVT hold it.
    pub(super) fn is_held(&self) -> bool {
        let latest = self.history.latest();
        latest.is_some_and(|latest| latest.response.as_ref().is_some_and(|response| response.is_resting))
    }

    /// Computes how it goes on from its LVT, unless that is known already. Whether all ghost states it needs are known.
    fn respond(&mut self, dynamics: &D) -> bool {
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        if latest.response.is_none() {
            latest.response = Some(Box::new(latest.respond(dynamics, self.is_island)));
            self.stats.responses += 1;
        }
        latest.response.as_ref().is_some_and(|response| response.has_all_ghosts)
    }

    /// Sends ghost states to the entities that need them and do not have them.
    fn send_ghosts(&mut self, out: &mut Effects<D>) {
        let is_final = self.has(Fault::GhostLost);
        let latest = self.history.latest_mut().expect("invariant: it has written before");
        let due = due_ghosts(latest, is_final);
        let (tick, from) = (latest.last, latest.version);
        latest.has_told = true;
        for DueGhost { to, own, ghost, .. } in &due {
            latest.sent_ghosts.retain(|sent| sent.own != *own || sent.to != to.entity);
            latest.sent_ghosts.push(SentGhost { own: *own, to: to.entity, ghost: ghost.clone() });
        }
        for DueGhost { to, own, ghost, is_awaited } in due {
            let pending = PendingAck { event: None, to: to.entity };
            let serial = (!is_awaited).then(|| self.await_ack(pending));
            self.stats.ghost_updates += 1;
            self.stats.ghosts_awaited += u64::from(is_awaited);
            let at = At { tick, from, to };
            out.messages.push((to.entity, Message::GhostUpdate { at, serial, mine: own, ghost }));
        }
    }
}

/// A ghost state that is to be sent.
struct DueGhost<D: Dynamics> {
    /// The receiver.
    to: Version,
    /// The body.
    own: BodyIndex,
    ghost: Arc<D::Ghost>,
    /// The receiver goes nowhere without it.
    is_awaited: bool,
}

/// Ghost states at the end of a segment that another entity cannot compute or awaits, and has not been sent.
fn due_ghosts<D: Dynamics>(segment: &Segment<D>, is_final: bool) -> SmallVec<[DueGhost<D>; 4]> {
    let mut due: SmallVec<[DueGhost<D>; 4]> = SmallVec::new();
    let Some(response) = &segment.response else { return due };
    for to_send in &response.ghosts {
        for known in segment.remotes.iter().filter(|known| known.remote.touches.contains(&to_send.own)) {
            let to = known.version.entity;
            let sent = segment.sent_ghosts.iter().find(|sent| sent.own == to_send.own && sent.to == to);
            // An entity that has all partners of the body can compute its ghost state. Once sent, always sent.
            let own = to_send.own;
            let lasts = segment.remotes.iter().any(|other| {
                let RemoteContact { body, touches, .. } = &other.remote;
                other.version.entity == to && touches.contains(&own) && segment.is_lasting(own, *body)
            });
            let is_needed = sent.is_some() || lasts || needs_ghost(segment, known, to_send);
            let is_news = sent.is_none_or(|sent| !is_final && !D::same_ghost(&sent.ghost, &to_send.ghost));
            let is_due = due.iter().any(|other| other.to.entity == to && other.own == own);
            if is_needed && is_news && !is_due {
                let is_awaited = lasts && sent.is_none();
                due.push(DueGhost { to: known.version, own, ghost: to_send.ghost.clone(), is_awaited });
            }
        }
    }
    due
}

/// Whether a body touches anything that the entity of a remote contact does not have.
fn needs_ghost<D: Dynamics>(segment: &Segment<D>, known: &ContactRecord<D>, ghost: &GhostToSend<D>) -> bool {
    let has = |partner: &PartnerKey| match partner {
        PartnerKey::Body(body) => segment
            .remotes
            .iter()
            .any(|other| other.version.entity == known.version.entity && other.remote.body == *body),
        PartnerKey::Static(_) | PartnerKey::Island => false,
    };
    !ghost.partners.iter().all(has)
}
