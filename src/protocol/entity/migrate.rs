//! Migration: bodies that join an island, or leave it.
//!
//! Bodies migrate at GVT, where everything before is committed: sender and receiver both begin anew at that tick with
//! their new bodies, so no other entity has to agree.

use crate::base::time::Tick;
use crate::protocol::dynamics::BodyIndex;
use crate::protocol::dynamics::{CachedContact, Cluster, Dynamics, PartnerKey};
use crate::protocol::effects::Effects;
use crate::protocol::entity::{Entity, Origin, PendingAck};
use crate::protocol::fault::Fault;
use crate::protocol::message::{EntityId, Message, Migration};

/// The bodies at a tick, their contact caches from the tick before, and whether a body was held then.
struct Present<D: Dynamics> {
    cluster: Cluster<D>,
    caches: Vec<CachedContact<D>>,
    expects_contact: bool,
}

impl<D: Dynamics> Entity<D> {
    /// Whether it has no bodies, and no input that could still change gives it any.
    pub(super) fn has_no_future(&self, gvt: Tick) -> bool {
        let is_empty = match (self.history.latest(), &self.origin) {
            (Some(latest), _) => latest.cluster().is_empty() && latest.first <= gvt,
            (None, Some(origin)) => origin.cluster.is_empty() && origin.first <= gvt,
            (None, None) => true,
        };
        is_empty && self.inputs.is_empty()
    }

    /// Gives up its LVT, until bodies migrate to it.
    pub(super) fn retire(&mut self, out: &mut Effects<D>) {
        self.history.clear(self.lvt(), out);
        self.origin = None;
        self.members.clear();
        out.move_lvt(self.lvt_known, None);
        self.lvt_known = None;
    }

    /// Whether bodies of it may migrate now: its LVT is GVT, and it waits for nothing.
    fn can_migrate(&self, gvt: Tick) -> bool {
        self.pending_acks.is_empty() && !self.writing && self.lvt_known == Some(gvt)
    }

    /// Sends some of its bodies to each of several entities. Bodies are in ascending order.
    pub(super) fn migrate_to(
        &mut self,
        leaving: &[(Vec<BodyIndex>, EntityId)],
        gvt: Tick,
        out: &mut Effects<D>,
    ) {
        assert!(self.can_migrate(gvt), "invariant: {} migrates bodies at GVT {gvt}", self.id);
        let Present { cluster: mut staying, caches, expects_contact } = self.present(gvt);
        let with = |side: &dyn Fn(&BodyIndex) -> bool| -> Vec<CachedContact<D>> {
            caches.iter().filter(|known| concerns(known, side)).cloned().collect()
        };
        let mut migrations = Vec::with_capacity(leaving.len());
        for (bodies, to) in leaving {
            let leaves = |body: &BodyIndex| bodies.binary_search(body).is_ok();
            let (cluster, rest) = staying.into_iter().partition(|(body, _)| leaves(body));
            staying = rest;
            migrations.push((*to, Migration { cluster, caches: with(&leaves), expects_contact }));
        }
        let kept = with(&|body| staying.binary_search_by_key(body, |(own, _)| *own).is_ok());
        self.begin_anew(gvt, Present { cluster: staying, caches: kept, expects_contact }, out);
        for (to, migration) in migrations {
            self.stats.migrations += 1;
            let serial = self.await_ack(PendingAck { event: None, to });
            if self.has(Fault::MigrationNotAwaited) {
                self.pending_acks.retain(|(pending, _)| *pending != serial);
            }
            out.messages.push((to, Message::Migrate { serial, tick: gvt, migration: Box::new(migration) }));
        }
    }

    /// Receives bodies of another entity.
    pub(super) fn on_migrate(&mut self, tick: Tick, migration: Migration<D>, out: &mut Effects<D>) {
        self.rollback_to(tick, out);
        let mut present = self.present(tick);
        present.cluster.extend(migration.cluster);
        present.cluster.sort_by_key(|(body, _)| *body);
        present.caches.extend(migration.caches);
        present.caches.sort_by_key(CachedContact::key);
        present.expects_contact |= migration.expects_contact;
        self.begin_anew(tick, present, out);
    }

    /// The bodies at `tick`, where its history ends.
    fn present(&self, tick: Tick) -> Present<D> {
        let none = Present { cluster: Cluster::<D>::new(), caches: Vec::new(), expects_contact: false };
        match (self.history.latest(), &self.origin) {
            (Some(latest), _) if latest.last == tick => {
                // Caches are of pairs that touched at the tick before: then the segment is one tick long.
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

    /// Begins anew at `tick` with other bodies. Contacts there are cancelled; the table will report them again.
    fn begin_anew(&mut self, tick: Tick, present: Present<D>, out: &mut Effects<D>) {
        self.fossil_collect(tick);
        let undone = self.history.clear(tick, out);
        self.send_antievents(undone, out);
        self.version.number += u32::from(!self.has(Fault::MigrationWithoutNewVersion));
        self.changes += 1;
        self.base = tick;
        self.members = present.cluster.iter().map(|(body, _)| *body).collect();
        let Present { cluster, caches, expects_contact } = present;
        self.origin = Some(Origin { first: tick, cluster, caches, expects_contact });
        self.publish_lvt(out);
    }
}

/// Whether a cached contact is of a body on one side.
fn concerns<D: Dynamics>(known: &CachedContact<D>, side: &dyn Fn(&BodyIndex) -> bool) -> bool {
    let is_partner = match &known.partner {
        PartnerKey::Body(body) => side(body),
        PartnerKey::Static(_) | PartnerKey::Island => false,
    };
    side(&known.own) || is_partner
}
