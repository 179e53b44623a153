//! Deliberate faults, so that the checks can be checked: each is a mistake somebody could make in this protocol.
//!
//! Only a world whose [`Dynamics::FAULTY`](crate::protocol::Dynamics::FAULTY) is set can have one; for all others the
//! compiler sees that there is none, and nothing of this remains in what runs.

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+) => {
        /// A deliberate fault.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fault {
            /// Everything as it should be.
            #[default]
            None,
            $($(#[doc = $doc])+ $name,)+
        }

        impl Fault {
            /// All faults there are.
            pub const ALL: &[Fault] = &[$(Fault::$name,)+];

            /// Its name, as it is given on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    Fault::None => "none",
                    $(Fault::$name => $word,)+
                }
            }

            /// What it is, in words.
            pub fn about(self) -> &'static str {
                match self {
                    Fault::None => "everything as it should be",
                    $(Fault::$name => concat!($($doc,)+).trim_ascii(),)+
                }
            }
        }
    };
}

faults! {
    /// Versions are not compared: news for what is gone is taken for news about what replaced it.
    NoVersions = "no-versions",
    /// Notice for a version that is gone is answered as if it had been taken in.
    NeverRefused = "never-rejected",
    /// Who is rejected keeps the contact all the same.
    RefusalIgnored = "refusal-ignored",
    /// Notice about the past is noted and answered at once, and acted on only at the next step.
    RollbackLater = "rollback-later",
    /// A contact in the past cuts the timeline one tick too late.
    CutTooLate = "cut-too-late",
    /// A changed set of contacts does not make the response void.
    ResponseKept = "response-kept",
    /// Nobody is told when a contact is taken back.
    NoAntievents = "no-antievents",
    /// Antievents are not answered.
    AntieventUnanswered = "antievent-unanswered",
    /// An antievent takes back the contact but not what came of it.
    AntieventWithoutCut = "antievent-without-cut",
    /// Who pending_ack_count steps on.
    NoGate = "no-gate",
    /// The writer tells those it meets, and does not respond itself.
    DetectorDoesNotApply = "detector-does-not-apply",
    /// A ghost that has been told once is never told anew.
    StandingLost = "ghost-lost",
    /// A ghost that comes after another is ignored.
    StandingIgnored = "ghost-ignored",
    /// Segments that end at global virtual time are let go.
    FossilAtGvt = "fossil-at-gvt",
    /// The table lets go of tracks that end at global virtual time.
    TableFossilAtGvt = "table-fossil-at-gvt",
    /// A pair that shares several cells is reported once for each.
    NoOwnerCell = "no-owner-cell",
    /// The table looks only for the first contact it meets, not for all at that tick.
    OneContactOnly = "one-contact-only",
    /// A track is not cut where it meets somebody.
    TrackNotCut = "track-not-cut",
    /// What was worked out before somebody turned out to be met on the way is kept.
    MeetingOverlooked = "meeting-overlooked",
    /// A plan that has become void on its way is carried out.
    VoidPlanKept = "void-plan-kept",
    /// The version of a void plan is used again.
    VersionReused = "version-reused",
    /// Notice about a plan under way is rejected, because the table has not answered yet.
    NewsBeforeAnswer = "news-before-answer",
    /// Tickets of odd entities go through the buckets in descending order.
    LocksUnordered = "locks-unordered",
    /// A request lets go of each bucket as soon as it has passed it.
    LocksNotHeld = "locks-not-held",
    /// The last bucket a request passed is never let go.
    KeyLost = "key-lost",
    /// Not even the lowest may go on when the window is used up.
    WindowHoldsTheLowest = "window-holds-the-lowest",
    /// Not even the lowest may go on from a contact.
    GateHoldsTheLowest = "gate-holds-the-lowest",
    /// Who is woken is woken one tick too late.
    WokenLate = "woken-late",
    /// Answers leave before the lvt_histogram have been moved.
    AnswerBeforeCount = "answer-before-count",
    /// Who moves leaves its old place before it is counted at the new one.
    LeaveBeforeEnter = "leave-before-enter",
    /// LvtHistogram are moved by messages, which take their time.
    CountByMessage = "count-by-message",
    /// What acts from outside lets go of global virtual time before it has arrived.
    InputReleasedEarly = "input-released-early",
    /// What acts from outside does not make void a plan under way.
    InputIgnoresPlan = "input-ignores-plan",
    /// Actions at global virtual time are let go as if they were settled.
    ActionsFossilAtGvt = "actions-fossil-at-gvt",
    /// Ticks that are kept for late actions are settled all the same.
    HistoryNotKept = "history-not-kept",
    /// Who hands over bodies does not wait for the answer.
    HandoverNotOwed = "handover-not-pending_acks",
    /// Who takes in bodies does not write its own tick anew.
    JoinWithoutNewVersion = "join-without-new-version",
    /// What has been handed over is not sent on to where it went.
    NotSentOn = "not-sent-on",
}
