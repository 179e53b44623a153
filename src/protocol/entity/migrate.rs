//! The company an entity keeps: bodies that come and go, by actions from outside or handed over by others.
//!
//! A handover happens at global virtual time, where everything before is settled: giver and taker both begin anew
//! at that tick with their new clusters, so nobody else need be asked. Which bodies share an entity never changes a
//! result.

use crate::base::time::Tick;
use crate::protocol::dynamics::{BodyIndex, CachedContact, Cluster, Dynamics, PartnerKey};
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Entity, Origin, PendingAck};
use crate::protocol::fault::Fault;
use crate::protocol::message::{EntityId, Message, Migration};

/// A cluster at a tick, what its pairs remember from the tick before, and whether somebody was held then.
struct Present<D: Dynamics> {
    cluster: Cluster<D>,
    caches: Vec<CachedContact<D>>,
    expects_contact: bool,
}

impl<D: Dynamics> Entity<D> {
    /// Whether it has no bodies, and nothing that could still change gives it any.
    pub(super) fn has_no_future(&self, gvt: Tick) -> bool {
        let is_empty = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest.cluster().is_empty() && latest.first <= gvt,
            (None, Some(origin)) => origin.cluster.is_empty() && origin.first <= gvt,
            (None, None) => true,
        };
        is_empty && self.inputs.is_empty()
    }

    /// Is counted no more, until somebody hands it bodies.
    pub(super) fn retire(&mut self, out: &mut Effects<D>) {
        self.history.clear(self.lvt(), out);
        self.origin = None;
        self.members.clear();
        out.move_lvt(self.lvt_known, None);
        self.lvt_known = None;
    }

    /// Whether it could hand over bodies now: it stands at global virtual time, and is waiting for nothing.
    pub fn can_migrate(&self, gvt: Tick) -> bool {
        self.pending_acks.is_empty() && !self.writing && self.lvt_known == Some(gvt)
    }

    /// Hands over some of its bodies. Ask [`Entity::can_migrate`] first.
    pub(in crate::protocol) fn migrate(
        &mut self,
        bodies: &[BodyIndex],
        to: EntityId,
        gvt: Tick,
        out: &mut Effects<D>,
    ) {
        self.migrate_to(&[(bodies.to_vec(), to)], gvt, out);
    }

    /// Hands over some of its bodies to each of several others. Ask [`Entity::can_migrate`] first. Bodies are in
    /// ascending order.
    pub(super) fn migrate_to(
        &mut self,
        migrations_out: &[(Vec<BodyIndex>, EntityId)],
        gvt: Tick,
        out: &mut Effects<D>,
    ) {
        debug_assert!(self.can_migrate(gvt), "{} is not at {gvt}", self.id);
        let Present { cluster: mut staying, caches, expects_contact } = self.present(gvt);
        let with = |side: &dyn Fn(&BodyIndex) -> bool| -> Vec<CachedContact<D>> {
            caches.iter().filter(|known| concerns(known, side)).cloned().collect()
        };
        let mut joins = Vec::with_capacity(migrations_out.len());
        for (bodies, to) in migrations_out {
            let leaves = |place: &BodyIndex| bodies.binary_search(place).is_ok();
            let (leaving, rest) = staying.into_iter().partition(|(place, _)| leaves(place));
            staying = rest;
            let inputs = self.take_inputs_of(&leaves);
            joins.push((*to, Migration { cluster: leaving, caches: with(&leaves), expects_contact, inputs }));
        }
        let left = with(&|place| staying.binary_search_by_key(place, |(own, _)| *own).is_ok());
        self.begin_anew(gvt, Present { cluster: staying, caches: left, expects_contact }, out);
        for (to, migration) in joins {
            for place in migration.bodies() {
                self.given.insert(place, to);
            }
            self.stats.migrations += 1;
            let serial = self.await_ack(PendingAck { event: None });
            if self.has(Fault::MigrationNotAwaited) {
                self.pending_acks.remove(&serial);
            }
            out.messages.push((to, Message::Migrate { serial, tick: gvt, migration: Box::new(migration) }));
        }
    }

    /// Takes in bodies that somebody hands over.
    pub(super) fn on_migrate(&mut self, tick: Tick, migration: Migration<D>, out: &mut Effects<D>) {
        self.rollback_to(tick, out);
        let mut present = self.present(tick);
        for place in migration.bodies() {
            self.given.remove(&place);
        }
        present.cluster.extend(migration.cluster);
        present.cluster.sort_by_key(|(place, _)| *place);
        present.caches.extend(migration.caches);
        present.caches.sort_by_key(CachedContact::key);
        present.expects_contact |= migration.expects_contact;
        for (tick, number, input) in migration.inputs {
            self.add_input(tick, number, input);
        }
        self.begin_anew(tick, present, out);
    }

    /// The cluster as it is at `tick`, where its timeline ends.
    fn present(&self, tick: Tick) -> Present<D> {
        let none = Present { cluster: Cluster::<D>::new(), caches: Vec::new(), expects_contact: false };
        match (self.history.latest(), &self.origin) {
            (Some(latest), _) if latest.last == tick => {
                // Pairs remember only if they touched at the tick before: then the segment is one tick long.
                let is_single = latest.first == tick;
                let caches = latest.caches.as_deref().filter(|_| is_single).map_or(Vec::new(), <[_]>::to_vec);
                Present {
                    cluster: latest.cluster().clone(),
                    caches,
                    expects_contact: is_single && latest.expects_contact,
                }
            }
            (None, Some(origin)) if origin.first == tick => Present {
                cluster: origin.cluster.clone(),
                caches: origin.caches.clone(),
                expects_contact: origin.expects_contact,
            },
            _ => none,
        }
    }

    /// Begins anew at `tick` with another cluster. What was known there is taken back; the table will say it again.
    fn begin_anew(&mut self, tick: Tick, present: Present<D>, out: &mut Effects<D>) {
        self.fossil_collect(tick);
        let lost = self.history.clear(tick, out);
        self.send_antievents(lost, out);
        self.version.number += u32::from(!self.has(Fault::MigrationWithoutNewVersion));
        self.changes += 1;
        self.base = tick;
        self.members = present.cluster.iter().map(|(place, _)| *place).collect();
        self.members.extend(self.inputs.values().flatten().map(|(_, action)| D::target(action)));
        self.members.sort_unstable();
        self.members.dedup();
        let Present { cluster, caches, expects_contact } = present;
        self.origin = Some(Origin { first: tick, cluster, caches, expects_contact });
        self.publish_lvt(out);
    }
}

/// Whether a cache is about somebody of one side.
fn concerns<D: Dynamics>(known: &CachedContact<D>, side: &dyn Fn(&BodyIndex) -> bool) -> bool {
    let partner = match &known.partner {
        PartnerKey::Body(place) => side(place),
        PartnerKey::Static(_) | PartnerKey::Island => false,
    };
    side(&known.own) || partner
}
