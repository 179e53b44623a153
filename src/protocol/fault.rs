//! Deliberate faults (mutants), so that the checks can be checked: each is a mistake that this protocol invites.
//!
//! Only a world with [`Dynamics::FAULTY`](crate::protocol::Dynamics::FAULTY) can have one; for all others the
//! compiler sees that there is none, and nothing of this remains in what runs.

use crate::base::faults::faults;

faults! {
    /// A deliberate fault.
    Fault:
    /// Versions are not compared: a message for a version that is gone is taken for one about the version that replaced it.
    NoVersions = "no-versions",
    /// A message for a version that is gone is acknowledged as if it had been applied.
    NeverRejected = "never-rejected",
    /// The sender of a rejected event keeps the contact.
    RejectionIgnored = "rejection-ignored",
    /// A straggler is noted and acknowledged at once, and rolls back only at the next step.
    RollbackLater = "rollback-later",
    /// A contact in the past rolls back to one tick too late.
    RollbackTooLate = "rollback-too-late",
    /// A changed set of contacts does not make the response void.
    ResponseKept = "response-kept",
    /// No antievent is sent when a contact is rolled back.
    NoAntievents = "no-antievents",
    /// Antievents are not acknowledged.
    AntieventUnacknowledged = "antievent-unacknowledged",
    /// An antievent removes the contact but not what followed from it.
    AntieventWithoutRollback = "antievent-without-rollback",
    /// An entity steps on while acknowledgements are pending.
    NoGate = "no-gate",
    /// The writer sends events for the contacts it finds, and does not respond itself.
    DetectorDoesNotApply = "detector-does-not-apply",
    /// A ghost state that has been sent once is never sent anew.
    GhostLost = "ghost-lost",
    /// An entity goes on without the ghost state of a body that it touched at the tick before too.
    GhostNotAwaited = "ghost-not-awaited",
    /// A ghost update that follows another is ignored.
    GhostIgnored = "ghost-ignored",
    /// Segments that end at GVT are collected.
    FossilAtGvt = "fossil-at-gvt",
    /// The table collects tracks that end at GVT.
    TableFossilAtGvt = "table-fossil-at-gvt",
    /// A pair that shares several cells is reported once for each.
    NoOwnerCell = "no-owner-cell",
    /// The table reports only one of the contacts at the first tick with any.
    OneContactOnly = "one-contact-only",
    /// A track is not retracted behind the first contact that its write finds.
    TrackNotRetracted = "track-not-retracted",
    /// A plan that has become void on its way is applied.
    VoidPlanKept = "void-plan-kept",
    /// The version of a void plan is used again.
    VersionReused = "version-reused",
    /// A message about a plan under way is rejected, because the table has not replied yet.
    MessageBeforeReply = "message-before-reply",
    /// Writes of odd entities lock their buckets in descending order.
    LocksUnordered = "locks-unordered",
    /// A request unlocks each bucket as soon as it has passed it.
    LocksNotHeld = "locks-not-held",
    /// The last bucket that a request passed is never unlocked.
    UnlockLost = "unlock-lost",
    /// Not even the entity with the lowest LVT may go on when the window is used up.
    WindowHoldsTheLowest = "window-holds-the-lowest",
    /// The window of every entity is one tick too wide.
    WindowTooWide = "window-too-wide",
    /// Not even the entity with the lowest LVT may go on from a contact.
    GateHoldsTheLowest = "gate-holds-the-lowest",
    /// Entities that wait for a tick are woken one tick too late.
    WokenLate = "woken-late",
    /// Acknowledgements leave before the LVT has moved.
    AckBeforeLvt = "ack-before-lvt",
    /// An LVT is removed at its old tick before it is added at the new one.
    RemoveBeforeAdd = "remove-before-add",
    /// LVTs are moved by messages, which take their time.
    LvtByMessage = "lvt-by-message",
    /// The pin of an input is released before the input has arrived.
    InputUnpinnedEarly = "input-unpinned-early",
    /// An input does not make a plan under way void.
    InputIgnoresPlan = "input-ignores-plan",
    /// Inputs at GVT are collected as if they were committed.
    InputsFossilAtGvt = "inputs-fossil-at-gvt",
    /// Ticks that are kept open for late inputs are collected all the same.
    HistoryNotKept = "history-not-kept",
    /// An entity that gives bodies away does not await the acknowledgement.
    MigrationNotAwaited = "migration-not-awaited",
    /// An entity that receives bodies does not begin a new version.
    MigrationWithoutNewVersion = "migration-without-new-version",
    /// A body passes the beginning of an epoch before it is decided whether it joins an island there.
    EpochNotAwaited = "epoch-not-awaited",
    /// An island goes on before all its bodies have come.
    IslandIncomplete = "island-incomplete",
}
