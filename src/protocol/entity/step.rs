//! Stepping: what an entity does next when it is polled.

use std::sync::Arc;

use crate::base::time::Tick;
use crate::protocol::driver::Next;
use crate::protocol::dynamics::BodyIndex;
use crate::protocol::dynamics::{Cluster, Dynamics, GhostToSend, PartnerKey, Response};
use crate::protocol::effects::Effects;
use crate::protocol::entity::plan::BODY_TICKS_PER_WRITE_MAX;
use crate::protocol::entity::{Departures, Entity, Limits, PendingAck};
use crate::protocol::fault::Fault;
use crate::protocol::gvt::VirtualTimes;
use crate::protocol::history::{ContactRecord, Segment, SentGhost};
use crate::protocol::message::{At, Message, Version};

/// A cluster with its flights, and the flights that begin with them.
pub(super) type Onward<D> = (Cluster<D>, Departures<D>);

/// Clusters with more bodies than this are careful with speculation: rolling them back is expensive. Not tuned.
pub(super) const LARGE_CLUSTER: usize = 4;
/// A large cluster responds to contacts this many times less far ahead than others. Not tuned.
const LARGE_CLUSTER_CAUTION: u64 = 8;
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
        if latest.touches() {
            let has_all_ghosts = self.respond(dynamics);
            self.send_ghosts(out);
            if (is_gated && !self.pending_acks.is_empty()) || !has_all_ghosts {
                return Next::AwaitAcks;
            }
        }
        let latest = self.history.latest().expect("invariant: it has written before");
        let ahead = self.contact_window_ticks(limits, latest.cluster().len());
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
        Next::Write(self.plan(dynamics, limits, (lvt + 1, lvt_min), onward, Some(lvt_min + ahead)))
    }

    /// The first flight.
    fn begin(&mut self, dynamics: &D, limits: &Limits, times: VirtualTimes) -> Next<D> {
        let origin = self.origin.as_ref().expect("invariant: an entity without history has an origin");
        let (first, cluster) = (origin.first, origin.cluster.clone());
        // A body may be spawned on the way to the first tick.
        let onward =
            if first > self.base { self.with_inputs(dynamics, cluster) } else { (cluster, Vec::new()) };
        Next::Write(self.plan(dynamics, limits, (first, times.lvt_min), onward, None))
    }

    /// The tick it has to wait for, if it is so far ahead that a poll would say nothing else: it touches nothing and
    /// expects nothing.
    pub(in crate::protocol) fn waits_for(&self, limits: &Limits, times: VirtualTimes) -> Option<Tick> {
        let latest = self.history.latest()?;
        let is_idle =
            self.pending_acks.is_empty() && !self.writing && !latest.touches() && !latest.expects_contact;
        if is_idle && latest.last < limits.last_tick {
            self.beyond_window(limits, times.lvt_min)
        } else {
            None
        }
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
    fn contact_window_ticks(&self, limits: &Limits, bodies: usize) -> u64 {
        let worthwhile = match bodies > LARGE_CLUSTER {
            true => {
                let most = BODY_TICKS_PER_WRITE_MAX / bodies as u64;
                1 + (self.contact_window_ticks / LARGE_CLUSTER_CAUTION).min(most)
            }
            false => self.contact_window_ticks,
        };
        limits.contact_window.unwrap_or(worthwhile).min(limits.window)
    }

    /// How the cluster flies on from its LVT, and the flights that begin with that.
    fn onward(&self, dynamics: &D) -> Onward<D> {
        let latest = self.history.latest().expect("invariant: it has written before");
        let (cluster, mut started): Onward<D> = match &latest.response {
            Some(response) => (after(response, latest.cluster()), departures(response).collect()),
            None => (latest.cluster().clone(), Vec::new()),
        };
        let (cluster, by_inputs) = self.with_inputs(dynamics, cluster);
        started.retain(|(body, _)| !by_inputs.iter().any(|(other, _)| other == body));
        started.extend(by_inputs);
        (cluster, started)
    }

    /// The cluster after the inputs at its LVT, and the flights that begin with them.
    fn with_inputs(&self, dynamics: &D, mut cluster: Cluster<D>) -> Onward<D> {
        let lvt = self.lvt();
        let inputs = self.inputs.get(&lvt).map_or(&[][..], Vec::as_slice);
        let started =
            if inputs.is_empty() { Vec::new() } else { dynamics.apply_inputs(lvt, &mut cluster, inputs) };
        (cluster, started)
    }

    /// How far it runs ahead of the lowest LVT: an entity with frequent contacts would only be rolled back.
    pub(super) fn window(&self, limits: &Limits) -> u64 {
        match limits.adaptive {
            true => limits.window.min(self.mean_free_ticks.max(MEAN_FREE_MIN_TICKS).saturating_mul(2)),
            false => limits.window,
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
        latest.is_some_and(|latest| {
            latest.response.as_ref().is_some_and(|response| is_holding(response, latest.cluster().len()))
        })
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
        for (to, own, ghost) in &due {
            latest.sent_ghosts.retain(|sent| sent.own != *own || sent.to != to.entity);
            latest.sent_ghosts.push(SentGhost { own: *own, to: to.entity, ghost: ghost.clone() });
        }
        for (to, own, ghost) in due {
            let serial = self.await_ack(PendingAck { event: None });
            self.stats.ghost_updates += 1;
            let at = At { tick, from, to };
            out.messages.push((to.entity, Message::GhostUpdate { at, serial, mine: own, ghost }));
        }
    }
}

/// Ghost states that are to be sent: the receiver, the body, its ghost state.
type DueGhosts<D> = Vec<(Version, BodyIndex, Arc<<D as Dynamics>::Ghost>)>;

/// Ghost states at the end of a segment that another entity cannot compute and has not been sent.
fn due_ghosts<D: Dynamics>(segment: &Segment<D>, is_final: bool) -> DueGhosts<D> {
    let mut due: DueGhosts<D> = Vec::new();
    let Some(response) = &segment.response else { return due };
    for to_send in &response.ghosts {
        for known in segment.remotes.iter().filter(|known| known.remote.touches.contains(&to_send.own)) {
            let to = known.version.entity;
            let sent = segment.sent_ghosts.iter().find(|sent| sent.own == to_send.own && sent.to == to);
            // An entity that has all partners of the body can compute its ghost state. Once sent, always sent.
            let is_needed = sent.is_some() || needs_ghost(segment, known, to_send);
            let is_news = sent.is_none_or(|sent| !is_final && !D::same_ghost(&sent.ghost, &to_send.ghost));
            let is_due = due.iter().any(|(other, own, _)| other.entity == to && *own == to_send.own);
            if is_needed && is_news && !is_due {
                due.push((known.version, to_send.own, to_send.ghost.clone()));
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

/// Whether a response lets expect a contact at the next tick: a body is held, or one of many bodies touched something.
pub(super) fn is_holding<D: Dynamics>(response: &Response<D>, bodies: usize) -> bool {
    response.is_resting || (bodies > LARGE_CLUSTER && response.counts.contacts > 0)
}

/// The cluster as it flies after a response.
pub(super) fn after<D: Dynamics>(response: &Response<D>, cluster: &Cluster<D>) -> Cluster<D> {
    // A heap list of plain numbers is copied in one go, unlike a list that may be inline.
    let mut then: Cluster<D> =
        if cluster.len() > 1 { Cluster::<D>::from_vec(cluster.to_vec()) } else { cluster.clone() };
    for (number, flight) in response.numbered(cluster) {
        then[number].1 = flight.clone();
    }
    then
}

/// Flights that begin with a response.
pub(super) fn departures<D: Dynamics>(
    response: &Response<D>,
) -> impl Iterator<Item = (BodyIndex, Option<D::Flight>)> + '_ {
    response.flights.iter().map(|(body, flight)| (*body, Some(flight.clone())))
}
