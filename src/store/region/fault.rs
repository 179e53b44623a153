//! Deliberate faults of regions (mutants), so that the checks can be checked: each is a mistake that regions invite.
//!
//! Only a region that is made to be faulty ([`Region::with_fault`]) can have one; for all others the compiler sees that
//! there is none.

use crate::base::faults::faults;
use crate::physics::Flight;
use crate::store::region::Region;

faults! {
    /// A deliberate fault of regions.
    RegionFault:
    /// A rollback restores one body too few of every tick.
    UndoShort = "undo-short",
    /// A rollback leaves what pairs keep of the ticks that it undoes.
    CachesNotUndone = "caches-not-undone",
    /// A body that changes cells is not put into the undo log.
    CrossingNotLogged = "crossing-not-logged",
    /// Entries of the calendar count although the flight that they are about has changed.
    StaleEntry = "stale-entry",
    /// A body that crosses into a region is not looked at again there.
    OwnNotLookedAt = "own-not-looked-at",
    /// A body may be moved by its contacts as far as they like.
    CorrectionNotChecked = "correction-not-checked",
    /// Entries are not told.
    EntryNotTold = "entry-not-told",
    /// A new flight of a replica that is known is ignored.
    ReplicaNotUpdated = "replica-not-updated",
    /// Only one of two regions responds to a contact across their border.
    OneSided = "one-sided",
    /// Of a set that responds together, only pairs with an own body are looked at.
    SetNotWidened = "set-not-widened",
    /// Sets that are solved together are solved without what other owners have to say.
    ExchangeSkipped = "exchange-skipped",
    /// In an exchange of the response counts what other owners have said for the exchange before.
    PartOfExchangeBefore = "part-of-exchange-before",
    /// What an owner says for an exchange that was used already is ignored.
    PartsNotCompared = "parts-not-compared",
    /// What was said once for an exchange is not said again with something else.
    PartsNotSentAgain = "parts-not-sent-again",
    /// What pairs keep is not sent with a new flight.
    CachesNotSent = "caches-not-sent",
    /// A message with a flight that is known is taken for known, whatever it says that pairs keep.
    CachesNotCompared = "caches-not-compared",
    /// Flights are compared by the tick at which they begin.
    FlightBySince = "flight-by-since",
    /// A message about a tick that is over is ignored.
    LateIgnored = "late-ignored",
    /// A late message rolls back to the tick after the one that it is about.
    RollbackTooShort = "rollback-too-short",
    /// A message about the last tick is taken in place even if another was believed before.
    AlwaysInPlace = "always-in-place",
    /// Late news is taken without a rollback although the new flight comes near others.
    AmendedThoughMet = "amended-though-met",
    /// Late news is taken without a rollback although the old flight has touched something.
    AmendedThoughTouched = "amended-though-touched",
    /// Flights that were changed in the past are not looked ahead for again after a rollback.
    AmendedNotLookedAt = "amended-not-looked-at",
    /// Antimessages are ignored.
    CancelIgnored = "cancel-ignored",
    /// No antimessage is sent.
    NoCancel = "no-cancel",
    /// A message that was sent once for a body and a tick is not sent again with something else.
    ChangeNotSentAgain = "change-not-sent-again",
    /// An entry counts as much as a change of the same tick.
    EntryBeatsChange = "entry-beats-change",
    /// The log of the last committed tick is dropped as well.
    CommittedTooFar = "committed-too-far",
    /// Global virtual time ignores messages under way.
    GvtIgnoresMessages = "gvt-ignores-messages",
    /// By the optimistic rule not even the region at global virtual time may go on.
    LowestHeld = "lowest-held",
    /// By the conservative rule a region goes on although a neighbour is one tick behind.
    ConservativeTooEarly = "conservative-too-early",
}

impl<'w> Region<'w, true> {
    /// The same region with a deliberate fault.
    pub fn with_fault(self, fault: RegionFault) -> Self {
        Region { fault, ..self }
    }
}

impl<const FAULTY: bool> Region<'_, FAULTY> {
    /// Whether this deliberate fault is built in.
    #[inline]
    pub(super) fn has(&self, fault: RegionFault) -> bool {
        FAULTY && self.fault == fault
    }

    /// Whether two flights are the same.
    #[inline]
    pub(super) fn is_same(&self, a: &Flight, b: &Flight) -> bool {
        a.same_bits(b) || self.has(RegionFault::FlightBySince) && a.since == b.since
    }
}
