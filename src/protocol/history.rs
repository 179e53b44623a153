//! The history of an entity (state saving): segments of flight, each ending at a contact or where a step ended.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use smallvec::SmallVec;
use thin_vec::ThinVec;

use super::effects::Effects;
use crate::base::time::Tick;
use crate::protocol::dynamics::{
    BodyIndex, CachedContact, Cluster, Dynamics, PartnerKey, RemoteContact, Response, ResponseInput,
};
use crate::protocol::message::{EntityId, Version};
use crate::protocol::tvht::Track;

/// A contact with a remote body, and the version of its entity at that tick.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
pub(super) struct ContactRecord<D: Dynamics> {
    pub version: Version,
    pub remote: RemoteContact<D>,
}

/// A ghost state that has been sent.
#[derive(Serialize)]
#[serde(bound = "")]
pub(super) struct SentGhost<D: Dynamics> {
    pub own: BodyIndex,
    pub to: EntityId,
    pub ghost: Arc<D::Ghost>,
}

impl<D: Dynamics> Clone for SentGhost<D> {
    fn clone(&self) -> Self {
        SentGhost { own: self.own, to: self.to, ghost: self.ghost.clone() }
    }
}

/// Contact caches, shared between the response they come from and the segment after it.
pub(super) type SharedCaches<D> = Option<Arc<[CachedContact<D>]>>;

/// Ticks `first..=last` of the cluster in free flight. Most segments have no contact, so what only contacts need takes
/// little room.
///
/// Invariant: contacts are known only at `last`; news about an earlier tick rolls the segment back to it.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
pub(super) struct Segment<D: Dynamics> {
    pub version: Version,
    pub first: Tick,
    pub last: Tick,
    /// The bodies and their flights.
    pub track: Arc<Track<D>>,
    /// Caches of pairs that touched at `first - 1`.
    #[serde(serialize_with = "super::entity::pointed")]
    pub caches: SharedCaches<D>,
    /// A contact held the cluster at `first - 1`, and will most likely hold it still.
    pub expects_contact: bool,
    /// The tick at which the cluster touches static geometry or itself, if that is within the segment as it was written;
    /// for a cluster that is held, a guess.
    pub own_touch: Option<Tick>,
    /// Contacts with remote bodies at `last`.
    pub remotes: ThinVec<ContactRecord<D>>,
    /// Ghost states of these contacts have been sent.
    pub has_told: bool,
    /// Ghost states sent at `last`.
    #[serde(serialize_with = "in_order")]
    pub sent_ghosts: ThinVec<SentGhost<D>>,
    /// How the cluster goes on from `last`, as far as is known.
    pub response: Option<Box<Response<D>>>,
}

/// A tick that is undone, and its contacts with remote bodies.
pub(super) struct UndoneContacts<D: Dynamics> {
    pub tick: Tick,
    pub version: Version,
    pub remotes: ThinVec<ContactRecord<D>>,
}

impl<D: Dynamics> Segment<D> {
    fn take_contacts(&mut self, undone: &mut Vec<UndoneContacts<D>>) {
        let remotes = std::mem::take(&mut self.remotes);
        if !remotes.is_empty() {
            undone.push(UndoneContacts { tick: self.last, version: self.version, remotes });
        }
    }

    /// Caches of pairs that touched at the tick before `last`: then the segment is one tick long.
    pub fn caches_before(&self) -> &[CachedContact<D>] {
        self.caches.as_deref().filter(|_| self.first == self.last).unwrap_or_default()
    }

    /// Whether a pair has touched at the tick before `last` too. Its cache may name either body first: they may come from
    /// one island.
    pub fn is_lasting(&self, own: BodyIndex, remote: BodyIndex) -> bool {
        let caches = self.caches_before();
        let keys = [(own, PartnerKey::Body(remote)), (remote, PartnerKey::Body(own))];
        keys.iter().any(|key| caches.binary_search_by_key(key, CachedContact::key).is_ok())
    }

    /// Whether a remote body that it touched at the tick before has not been heard of at `last`.
    pub fn misses_partner(&self) -> bool {
        let is_own = |body: BodyIndex| self.cluster().binary_search_by_key(&body, |(own, _)| *own).is_ok();
        let is_missing =
            |body: BodyIndex| !is_own(body) && self.remotes.iter().all(|other| other.remote.body != body);
        self.caches_before().iter().any(|known| match known.partner {
            PartnerKey::Body(body) => is_missing(body) || is_missing(known.own),
            PartnerKey::Static(_) | PartnerKey::Island => false,
        })
    }

    /// Whether a ghost state is missing that is certain to come: both sides of a contact that lasts send one.
    pub fn lacks_ghost(&self) -> bool {
        let lasts =
            |remote: &RemoteContact<D>| remote.touches.iter().any(|own| self.is_lasting(*own, remote.body));
        self.remotes.iter().any(|known| known.remote.ghost.is_none() && lasts(&known.remote))
    }

    /// Whether it has sent its ghost states, and waits for those of others.
    pub fn awaits_ghosts(&self) -> bool {
        self.has_told && self.lacks_ghost()
    }

    /// Whether the cluster touches anything at the end of the segment.
    pub fn touches(&self) -> bool {
        !self.remotes.is_empty() || self.own_touch == Some(self.last)
    }

    /// The cluster and its flights.
    pub fn cluster(&self) -> &Cluster<D> {
        &self.track.cluster
    }

    /// Bytes it takes, with everything that only it holds.
    fn bytes(&self) -> usize {
        fn spilled<const N: usize, T>(list: &SmallVec<[T; N]>) -> usize
        where
            [T; N]: smallvec::Array<Item = T>,
        {
            if list.spilled() { list.capacity() * size_of::<T>() } else { 0 }
        }
        let cluster = self.cluster();
        let track = size_of::<Track<D>>() + 2 * size_of::<usize>() + spilled(cluster);
        let touches: usize = self.remotes.iter().map(|known| spilled(&known.remote.touches)).sum();
        let response = self.response.as_ref().map_or(0, |response| {
            let partners: usize = response.ghosts.iter().map(|ghost| spilled(&ghost.partners)).sum();
            let caches = response.caches.len() * size_of::<CachedContact<D>>();
            let lists = spilled(&response.flights) + spilled(&response.ghosts);
            size_of::<Response<D>>() + lists + caches + partners
        });
        let caches = self.caches.as_ref().map_or(0, |list| list.len() * size_of::<CachedContact<D>>());
        let remotes = self.remotes.capacity() * size_of::<ContactRecord<D>>();
        let lists = caches + remotes + self.sent_ghosts.capacity() * size_of::<SentGhost<D>>();
        size_of::<Self>() + lists + track + touches + response
    }

    /// Computes how the cluster goes on from the end of the segment.
    pub fn respond(&self, dynamics: &D, is_island: bool) -> Response<D> {
        // A version that is about to be cancelled may still be listed beside the one that replaces it.
        let mut known: SmallVec<[&ContactRecord<D>; 8]> = self.remotes.iter().collect();
        known.sort_by_key(|known| (known.remote.body, std::cmp::Reverse(known.version.number)));
        known.dedup_by_key(|known| known.remote.body);
        let remotes: SmallVec<[&RemoteContact<D>; 8]> = known.iter().map(|known| &known.remote).collect();
        let (cluster, caches) = (self.cluster(), self.caches_before());
        dynamics.respond(self.last, &ResponseInput { cluster, caches, remotes: &remotes, is_island })
    }
}

/// The segments of an entity, ascending and without gaps.
#[derive(Clone, Serialize)]
#[serde(bound = "")]
pub(super) struct History<D: Dynamics> {
    segments: VecDeque<Segment<D>>,
    /// A deliberate fault: versions are not compared.
    #[serde(skip)]
    pub(super) is_blind: bool,
}

impl<D: Dynamics> Default for History<D> {
    fn default() -> Self {
        History { segments: VecDeque::new(), is_blind: false }
    }
}

impl<D: Dynamics> History<D> {
    /// Checks that segments follow each other without gaps, in versions that never fall, and that what each knows of
    /// other bodies is in order.
    pub fn validate(&self) -> Result<(), String> {
        let mut before: Option<&Segment<D>> = None;
        for segment in &self.segments {
            let fail = |what: &str| Err(format!("segment {}..={}: {what}", segment.first, segment.last));
            if segment.first > segment.last {
                return fail("ends before it begins");
            }
            if before.is_some_and(|before| before.last + 1 != segment.first) {
                return fail("does not follow the segment before");
            }
            if before.is_some_and(|before| before.version > segment.version) {
                return fail("has an older version than the segment before");
            }
            if !segment.cluster().is_sorted_by(|a, b| a.0 < b.0) {
                return fail("its bodies do not ascend");
            }
            let key = |known: &ContactRecord<D>| (known.version, known.remote.body);
            if !segment.remotes.is_sorted_by(|a, b| key(a) < key(b)) {
                return fail("its remote contacts are not in order");
            }
            if segment.remotes.iter().any(|known| known.remote.touches.is_empty()) {
                return fail("a remote contact touches nothing");
            }
            before = Some(segment);
        }
        Ok(())
    }

    pub fn latest(&self) -> Option<&Segment<D>> {
        self.segments.back()
    }

    pub fn latest_mut(&mut self) -> Option<&mut Segment<D>> {
        self.segments.back_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Segment<D>> {
        self.segments.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Segment<D>> {
        self.segments.iter_mut()
    }

    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Bytes it takes. Ghost states are shared and left out.
    pub fn bytes(&self) -> usize {
        let spare = self.segments.capacity() - self.segments.len();
        spare * size_of::<Segment<D>>() + self.segments.iter().map(Segment::bytes).sum::<usize>()
    }

    pub fn push(&mut self, segment: Segment<D>) {
        debug_assert!(self.latest().is_none_or(|latest| latest.last + 1 == segment.first), "no gaps");
        self.segments.push_back(segment);
    }

    /// The segment that covers `tick` in `version`. `None` if that has been rolled back.
    pub fn at(&mut self, tick: Tick, version: Version) -> Option<&mut Segment<D>> {
        let at = self.segments.partition_point(|segment| segment.last < tick);
        let segment = self.segments.get_mut(at)?;
        let is_it = segment.version == version || (D::FAULTY && self.is_blind);
        (segment.first <= tick && is_it).then_some(segment)
    }

    /// Whether the cluster has gone on from a contact, known or expected, at or after `tick`.
    pub fn hurried_from(&self, tick: Tick) -> bool {
        let gone_on = self.segments.len().saturating_sub(1);
        let later = self.segments.iter().take(gone_on).rev().take_while(|segment| segment.last >= tick);
        later.into_iter().any(|segment| segment.touches() || segment.expects_contact)
    }

    /// Undoes everything after `tick`. Returns the contacts that are undone.
    pub fn rollback_to(&mut self, tick: Tick, out: &mut Effects<D>) -> Vec<UndoneContacts<D>> {
        let mut undone = Vec::new();
        while let Some(segment) = self.segments.back_mut().filter(|segment| segment.last > tick) {
            segment.take_contacts(&mut undone);
            let keep = segment.first <= tick;
            let end = if keep { tick + 1 } else { segment.first };
            out.tracks_retracted.push((segment.track.clone(), end));
            if !keep {
                self.segments.pop_back();
                continue;
            }
            segment.last = tick;
            segment.sent_ghosts.clear();
            segment.has_told = false;
            segment.response = None;
            break;
        }
        undone
    }

    /// Undoes everything from `tick` on, and drops what came before. Returns the contacts that are undone.
    pub fn clear(&mut self, tick: Tick, out: &mut Effects<D>) -> Vec<UndoneContacts<D>> {
        let mut undone = Vec::new();
        for mut segment in self.segments.drain(..) {
            segment.take_contacts(&mut undone);
            let end = tick.clamp(segment.first, segment.last + 1);
            out.tracks_retracted.push((segment.track, end));
        }
        undone
    }

    /// Drops the segments that end before `gvt`: fossil collection. Each is given to `commit`.
    pub fn drop_before(&mut self, gvt: Tick, mut commit: impl FnMut(Segment<D>)) {
        while self.segments.front().is_some_and(|segment| segment.last < gvt) {
            commit(self.segments.pop_front().expect("invariant: there is a first one"));
        }
    }
}

/// Serialises ghosts in an order that does not depend on when each was sent.
fn in_order<D: Dynamics, S: Serializer>(
    sent: &ThinVec<SentGhost<D>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut sent: Vec<&SentGhost<D>> = sent.iter().collect();
    sent.sort_by_key(|sent| (sent.own, sent.to));
    sent.serialize(serializer)
}
