//! A schedule in words, one line for each thing that happens.

use crate::base::time::Tick;
use crate::protocol::{Effects, EntityId, MembershipChange, Message, Next, WriteResult};
use crate::verify::config::{ModelConfig, ScriptedInput};
use crate::verify::property::Violation;
use crate::verify::state::{Action, Effect, Endpoint, Envelope, ModelState};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};

/// Collects lines about an action.
pub(super) struct TraceLog {
    /// `None` if nothing is to be collected.
    lines: Option<Vec<String>>,
}

impl TraceLog {
    pub fn off() -> Self {
        TraceLog { lines: None }
    }

    fn on() -> Self {
        TraceLog { lines: Some(Vec::new()) }
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    pub fn delivered(&mut self, from: Endpoint, to: Endpoint, envelope: &Envelope) {
        self.note(|| format!("{to} receives from {from}: {}", envelope_text(envelope)));
    }

    pub fn effect(&mut self, id: EntityId, effect: &Effect) {
        self.note(|| match effect {
            Effect::Enter(tick) => format!("{id} adds its LVT at tick {tick}"),
            Effect::Leave(tick) => format!("{id} removes its LVT from tick {tick}"),
            Effect::Send(to, envelope) => format!("{id} sends to {to}: {}", envelope_text(envelope)),
            Effect::Advance => format!("{id} scans for GVT"),
        });
    }

    pub fn stepped(&mut self, id: EntityId, next: &Next<ToyModel>) {
        self.note(|| match next {
            Next::Write(plan) => format!(
                "{id} is polled: plans a flight from tick {} to {} (version {})",
                plan.first, plan.last, plan.version
            ),
            Next::AwaitAcks => format!("{id} is polled: waits for acknowledgements"),
            Next::AwaitLvtMin(tick) => format!("{id} is polled: waits until the lowest LVT is {tick}"),
            Next::Done => format!("{id} is polled: is done"),
            Next::Poll => format!("{id} is polled"),
        });
    }

    pub fn written(&mut self, written: &WriteResult<ToyModel>) {
        self.note(|| {
            let contacts = written.found.iter().map(|found| {
                format!(
                    "body {} of {} (version {})",
                    found.remote().0,
                    found.other.version.entity,
                    found.other.version
                )
            });
            let contacts: Vec<String> = contacts.collect();
            match contacts.is_empty() {
                true => format!("  writes up to tick {}, no contact", written.last),
                false => {
                    format!("  writes up to tick {}, in contact with {}", written.last, contacts.join(", "))
                }
            }
        });
    }

    pub fn outcome(&mut self, out: &Effects<ToyModel>, lvt: Tick) {
        if let Some((from, to)) = out.lvt_change() {
            let tick = |tick: Option<Tick>| tick.map_or("none".to_owned(), |tick| format!("tick {tick}"));
            self.note(|| format!("  LVT moves from {} to {}", tick(from), tick(to)));
        } else if out.has_rollback() {
            self.note(|| format!("  rolls back; LVT stays at tick {lvt}"));
        }
        for (to, message) in out.messages() {
            self.note(|| format!("  sends to {to}: {}", message_text(message)));
        }
    }

    pub fn input(&mut self, tick: Tick, input: &ToyInput, pinned: Result<Tick, Tick>) {
        self.note(|| {
            let text = input_text(input);
            match pinned {
                Ok(pinned) => format!("input: {text} at tick {tick} (pins GVT at {pinned})"),
                Err(gvt) => format!("input: {text} at tick {tick}; rejected, GVT is {gvt}"),
            }
        });
    }

    pub fn decided(&mut self, change: &MembershipChange) {
        self.note(|| {
            let moves = change.moves.iter().map(|(body, to)| format!("body {body} to {to}"));
            format!("islands are decided; moves: {:?}", moves.collect::<Vec<_>>())
        });
    }
}

fn input_text(input: &ToyInput) -> String {
    match input.kind {
        ToyInputKind::Mix(_) => format!("body {} is pushed", input.body),
        ToyInputKind::Spawn(_) => format!("body {} is spawned", input.body),
        ToyInputKind::Despawn => format!("body {} is despawned", input.body),
    }
}

fn envelope_text(envelope: &Envelope) -> String {
    match envelope {
        Envelope::Message(message) => message_text(message),
        Envelope::Input { tick, input, .. } => format!("{} at tick {tick}", input_text(input)),
        Envelope::Request(request) => {
            let plan = request.plan();
            format!("table request of {}, ticks {} to {}", plan.version.entity, plan.first, plan.last)
        }
        Envelope::Reply(_, written) => {
            format!("table reply: written up to tick {}, {} contacts", written.last, written.found.len())
        }
        Envelope::Unlock => "unlock".to_owned(),
        Envelope::Count(from, to) => format!("LVT moves from {from:?} to {to:?}"),
    }
}

fn message_text(message: &Message<ToyModel>) -> String {
    match message {
        Message::Event { at, mine, yours, .. } => format!(
            "event: body {mine} of the sender (version {}) touches body {yours} of the receiver (version {}) at tick {}",
            at.from, at.to, at.tick
        ),
        Message::Antievent { at, .. } => format!(
            "antievent: version {} of the sender no longer touches version {} of the receiver at tick {}",
            at.from, at.to, at.tick
        ),
        Message::GhostUpdate { at, mine, ghost, .. } => {
            format!(
                "ghost update: body {mine} of the sender has {} contacts at tick {}",
                ghost.contacts, at.tick
            )
        }
        Message::Migrate { tick, migration, .. } => {
            format!("migration: bodies {:?} from tick {tick} on", migration.bodies().collect::<Vec<_>>())
        }
        Message::Ack { rejected: true, .. } => "acknowledgement: rejected, that version is gone".to_owned(),
        Message::Ack { rejected: false, .. } => "acknowledgement".to_owned(),
    }
}

/// Puts a schedule into words, a line for each thing that happens, and returns the violation at its end.
/// `in_place` must be `true` for schedules of [`walk()`](super::walk()), which leaves the buckets unsorted, and `false` for
/// those of [`explore()`](super::explore()).
pub fn replay(config: &ModelConfig, schedule: &[Action], in_place: bool) -> (Vec<String>, Option<Violation>) {
    let mut state = ModelState::new(config);
    let mut lines = Vec::new();
    for (number, next) in schedule.iter().enumerate() {
        let before = state.gvt();
        let mut notes = TraceLog::on();
        if !in_place {
            state = state.unshared_copy(*next);
        }
        state.perform(config, *next, &mut notes);
        for (index, line) in notes.lines.into_iter().flatten().enumerate() {
            lines.push(if index == 0 {
                format!("{:>4}. {line}", number + 1)
            } else {
                format!("      {line}")
            });
        }
        if state.gvt() > before {
            lines.push(format!("        GVT rises to {}", state.gvt()));
        }
        if state.violation().is_some() {
            break;
        }
    }
    let mut left = Vec::new();
    state.actions(config, &mut left);
    let mut violation = state.violation().cloned();
    if violation.is_none() && left.is_empty() {
        violation = state.check_end(config).err();
    }
    (lines, violation)
}

/// The script of a model in words.
pub(super) fn script_text(script: &[ScriptedInput]) -> String {
    let text =
        |scripted: &ScriptedInput| format!("{} at tick {}", input_text(&scripted.input), scripted.tick);
    script.iter().map(text).collect::<Vec<_>>().join(", ")
}
