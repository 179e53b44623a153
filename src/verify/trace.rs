//! What happened, in words: a way through the states told move by move.

use crate::base::time::Tick;
use crate::protocol::{EntityId, Message, Outbox, Step, Written};
use crate::verify::config::{Cue, Setting};
use crate::verify::property::Broken;
use crate::verify::state::{Effect, Mail, Move, Play, Seat};
use crate::verify::toy_model::{Act, Deed, Tiny};

/// What is taken down about a move; nothing if nobody wants to know.
pub(super) struct Notes {
    lines: Option<Vec<String>>,
}

impl Notes {
    pub fn off() -> Self {
        Notes { lines: None }
    }

    fn on() -> Self {
        Notes { lines: Some(Vec::new()) }
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    pub fn delivered(&mut self, from: Seat, to: Seat, mail: &Mail) {
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

    pub fn stepped(&mut self, id: EntityId, step: &Step<Tiny>) {
        self.note(|| match step {
            Step::Write(plan) => format!(
                "{id} steps: plans to fly from tick {} to {} (version {})",
                plan.first, plan.last, plan.version
            ),
            Step::Owes => format!("{id} steps: has something to hear first"),
            Step::WaitFor(tick) => format!("{id} steps: waits until all have reached tick {tick}"),
            Step::Done => format!("{id} steps: has nothing more to do"),
        });
    }

    pub fn written(&mut self, written: &Written<Tiny>) {
        self.note(|| {
            let met = written.found.iter().map(|found| {
                format!(
                    "body {} of {} (version {})",
                    found.stranger().0,
                    found.other.entity,
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

    pub fn outcome(&mut self, out: &Outbox<Tiny>, lvt: Tick) {
        if let Some((from, to)) = out.counted {
            let tick = |tick: Option<Tick>| tick.map_or("nowhere".to_owned(), |tick| format!("tick {tick}"));
            self.note(|| format!("  goes from {} to {}", tick(from), tick(to)));
        } else if !out.landed.is_empty() {
            self.note(|| format!("  is back at tick {lvt}"));
        }
        for (to, letter) in &out.messages {
            self.note(|| format!("  tells {to}: {}", letter_in_words(letter)));
        }
    }

    pub fn acted(&mut self, tick: Tick, act: &Act, held: Result<Tick, Tick>) {
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

    pub fn handed_over(&mut self, from: EntityId, bodies: &[u32], to: EntityId) {
        self.note(|| format!("{from} hands bodies {bodies:?} over to {to}"));
    }
}

fn act_in_words(act: &Act) -> String {
    match act.deed {
        Deed::Stir(_) => format!("body {} is pushed", act.body),
        Deed::Appear(_) => format!("body {} comes into being", act.body),
        Deed::Vanish => format!("body {} is taken away", act.body),
    }
}

fn mail_in_words(mail: &Mail) -> String {
    match mail {
        Mail::Letter(letter) => letter_in_words(letter),
        Mail::Act { tick, act, .. } => format!("{} at tick {tick}", act_in_words(act)),
        Mail::Ticket(ticket) => {
            let plan = ticket.plan();
            format!("ticket of {}, ticks {} to {}", plan.entity, plan.first, plan.last)
        }
        Mail::Answer(_, written) => {
            format!("written up to tick {}, {} contacts", written.last, written.found.len())
        }
        Mail::LetGo => "the key is given back".to_owned(),
        Mail::Count(from, to) => format!("count me at {to:?} instead of {from:?}"),
    }
}

fn letter_in_words(letter: &Message<Tiny>) -> String {
    match letter {
        Message::Event { at, mine, yours, .. } => format!(
            "event: my body {mine} (version {}) touches your body {yours} (version {}) at tick {}",
            at.from, at.to, at.tick
        ),
        Message::Antievent { at, .. } => format!(
            "antievent: my version {} no longer touches your version {} at tick {}",
            at.from, at.to, at.tick
        ),
        Message::Standing { at, mine, standing, .. } => {
            format!("standing: my body {mine} touches {} in all at tick {}", standing.touches, at.tick)
        }
        Message::Join { tick, party, .. } => {
            format!("join: bodies {:?} are yours from tick {tick} on", party.bodies())
        }
        Message::Answer { refused: true, .. } => "answer: refused, that version is gone".to_owned(),
        Message::Answer { refused: false, .. } => "answer: heard".to_owned(),
    }
}

/// Tells a way from the beginning, a line for each thing that happens, and the promise that is broken at its end.
/// `in_place` for ways of [`walk()`](crate::verify::random_walk()), which do not put the buckets in order.
pub fn retell(setting: &Setting, moves: &[Move], in_place: bool) -> (Vec<String>, Option<Broken>) {
    let mut play = Play::new(setting);
    let mut told = Vec::new();
    for (number, next) in moves.iter().enumerate() {
        let before = play.gvt();
        let mut notes = Notes::on();
        if !in_place {
            play = play.parted(*next);
        }
        play.make(setting, *next, &mut notes);
        for (at, line) in notes.lines.into_iter().flatten().enumerate() {
            told.push(if at == 0 { format!("{:>4}. {line}", number + 1) } else { format!("      {line}") });
        }
        if play.gvt() > before {
            told.push(format!("        global virtual time is {} now", play.gvt()));
        }
        if play.broken().is_some() {
            break;
        }
    }
    let mut left = Vec::new();
    play.moves(setting, &mut left);
    let mut broken = play.broken().cloned();
    if broken.is_none() && left.is_empty() {
        broken = play.check_end(setting).err();
    }
    (told, broken)
}

/// What comes from outside, in words.
pub(super) fn script_in_words(script: &[Cue]) -> String {
    let cue = |cue: &Cue| match cue {
        Cue::Act { tick, act } => format!("{} at tick {tick}", act_in_words(act)),
        Cue::HandOver { from, bodies, to } => format!("{from} hands {bodies:?} over to {to}"),
    };
    script.iter().map(cue).collect::<Vec<_>>().join(", ")
}
