//! What happened, in words: a way through the states told move by move.

use crate::base::time::Tick;
use crate::protocol::{Effects, EntityId, Message, Next, WriteResult};
use crate::verify::config::{ModelConfig, ScriptedInput};
use crate::verify::property::Violation;
use crate::verify::state::{Action, Effect, Endpoint, Envelope, ModelState};
use crate::verify::toy_model::{ToyInput, ToyInputKind, ToyModel};

/// What is taken down about a move; nothing if nobody wants to know.
pub(super) struct TraceLog {
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

    pub fn delivered(&mut self, from: Endpoint, to: Endpoint, mail: &Envelope) {
        self.note(|| format!("{to} hears from {from}: {}", mail_in_words(mail)));
    }

    pub fn effect(&mut self, id: EntityId, effect: &Effect) {
        self.note(|| match effect {
            Effect::Enter(tick) => format!("{id} is counted at tick {tick}"),
            Effect::Leave(tick) => format!("{id} is counted at tick {tick} no more"),
            Effect::Send(to, mail) => format!("{id} sends to {to}: {}", mail_in_words(mail)),
            Effect::Advance => format!("{id} looks whether global virtual time can rise"),
        });
    }

    pub fn stepped(&mut self, id: EntityId, next: &Next<ToyModel>) {
        self.note(|| match next {
            Next::Write(plan) => format!(
                "{id} steps: plans to fly from tick {} to {} (version {})",
                plan.first, plan.last, plan.version
            ),
            Next::AwaitAcks => format!("{id} steps: has something to hear first"),
            Next::AwaitLvtMin(tick) => format!("{id} steps: waits until all have reached tick {tick}"),
            Next::Done => format!("{id} steps: has nothing more to do"),
            Next::Poll | Next::Forward { .. } => format!("{id} steps"),
        });
    }

    pub fn written(&mut self, written: &WriteResult<ToyModel>) {
        self.note(|| {
            let met = written.found.iter().map(|found| {
                format!(
                    "body {} of {} (version {})",
                    found.remote().0,
                    found.other.version.entity,
                    found.other.version
                )
            });
            let met: Vec<String> = met.collect();
            match met.is_empty() {
                true => format!("  writes up to tick {}, meets nobody", written.last),
                false => format!("  writes up to tick {}, and meets {}", written.last, met.join(", ")),
            }
        });
    }

    pub fn outcome(&mut self, out: &Effects<ToyModel>, lvt: Tick) {
        if let Some((from, to)) = out.lvt_change() {
            let tick = |tick: Option<Tick>| tick.map_or("nowhere".to_owned(), |tick| format!("tick {tick}"));
            self.note(|| format!("  goes from {} to {}", tick(from), tick(to)));
        } else if out.has_rollback() {
            self.note(|| format!("  is back at tick {lvt}"));
        }
        for (to, message) in out.messages() {
            self.note(|| format!("  tells {to}: {}", letter_in_words(message)));
        }
    }

    pub fn acted(&mut self, tick: Tick, act: &ToyInput, held: Result<Tick, Tick>) {
        self.note(|| {
            let what = act_in_words(act);
            match held {
                Ok(held) => {
                    format!("from outside: {what} at tick {tick} (holds global virtual time at {held})")
                }
                Err(gvt) => format!("from outside: {what} at tick {tick}; too late, {gvt} is settled"),
            }
        });
    }

    pub fn migrated(&mut self, from: EntityId, bodies: &[u32], to: EntityId) {
        self.note(|| format!("{from} hands bodies {bodies:?} over to {to}"));
    }
}

fn act_in_words(act: &ToyInput) -> String {
    match act.deed {
        ToyInputKind::Mix(_) => format!("body {} is pushed", act.body),
        ToyInputKind::Spawn(_) => format!("body {} comes into being", act.body),
        ToyInputKind::Despawn => format!("body {} is taken away", act.body),
    }
}

fn mail_in_words(mail: &Envelope) -> String {
    match mail {
        Envelope::Message(message) => letter_in_words(message),
        Envelope::ToyInput { tick, act, .. } => format!("{} at tick {tick}", act_in_words(act)),
        Envelope::Request(request) => {
            let plan = request.plan();
            format!("request of {}, ticks {} to {}", plan.version.entity, plan.first, plan.last)
        }
        Envelope::Reply(_, written) => {
            format!("written up to tick {}, {} contacts", written.last, written.found.len())
        }
        Envelope::Unlock => "the key is given back".to_owned(),
        Envelope::Count(from, to) => format!("count me at {to:?} instead of {from:?}"),
    }
}

fn letter_in_words(message: &Message<ToyModel>) -> String {
    match message {
        Message::Event { at, mine, yours, .. } => format!(
            "event: my body {mine} (version {}) touches your body {yours} (version {}) at tick {}",
            at.from, at.to, at.tick
        ),
        Message::Antievent { at, .. } => format!(
            "antievent: my version {} no longer touches your version {} at tick {}",
            at.from, at.to, at.tick
        ),
        Message::GhostUpdate { at, mine, ghost, .. } => {
            format!("ghost: my body {mine} touches {} in all at tick {}", ghost.touches, at.tick)
        }
        Message::Migrate { tick, migration, .. } => {
            format!("join: bodies {:?} are yours from tick {tick} on", migration.bodies())
        }
        Message::Ack { rejected: true, .. } => "answer: rejected, that version is gone".to_owned(),
        Message::Ack { rejected: false, .. } => "answer: heard".to_owned(),
    }
}

/// Tells a way from the beginning, a line for each thing that happens, and the property that is violation at its end.
/// `in_place` for ways of [`walk()`](crate::verify::random_walk()), which do not put the buckets in order.
pub fn replay(config: &ModelConfig, moves: &[Action], in_place: bool) -> (Vec<String>, Option<Violation>) {
    let mut state = ModelState::new(config);
    let mut told = Vec::new();
    for (number, next) in moves.iter().enumerate() {
        let before = state.gvt();
        let mut notes = TraceLog::on();
        if !in_place {
            state = state.unshared_copy(*next);
        }
        state.make(config, *next, &mut notes);
        for (at, line) in notes.lines.into_iter().flatten().enumerate() {
            told.push(if at == 0 { format!("{:>4}. {line}", number + 1) } else { format!("      {line}") });
        }
        if state.gvt() > before {
            told.push(format!("        global virtual time is {} now", state.gvt()));
        }
        if state.violation().is_some() {
            break;
        }
    }
    let mut left = Vec::new();
    state.moves(config, &mut left);
    let mut violation = state.violation().cloned();
    if violation.is_none() && left.is_empty() {
        violation = state.check_end(config).err();
    }
    (told, violation)
}

/// What comes from outside, in words.
pub(super) fn script_text(script: &[ScriptedInput]) -> String {
    let input_next = |input_next: &ScriptedInput| match input_next {
        ScriptedInput::ToyInput { tick, act } => format!("{} at tick {tick}", act_in_words(act)),
        ScriptedInput::Migrate { from, bodies, to } => format!("{from} hands {bodies:?} over to {to}"),
    };
    script.iter().map(input_next).collect::<Vec<_>>().join(", ")
}
