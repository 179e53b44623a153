//! Models of regions and their schedules in words.

use crate::executor::regions::SyncRule;
use crate::store::{Message, Word};
use crate::verify::model::Model;
use crate::verify::property::Violation;
use crate::verify::regions::state::{RegionAction, RegionModel, RegionState, opened};

pub(super) fn describe(model: &RegionModel, name: &str) -> String {
    let world = &model.setting.world;
    let rule = match model.rule {
        SyncRule::Optimistic => format!("optimistic with a window of {}", model.window),
        SyncRule::Conservative => "conservative".to_owned(),
    };
    format!(
        "{name}: {} bodies in {} regions of {} threads, {} ticks, {rule}; {}",
        world.bodies.len(),
        model.setting.partition.regions,
        model.threads,
        world.time.last_tick,
        model.setting.words
    )
}

fn message_text(message: &Message) -> String {
    let Message { tick, body, word, .. } = message;
    match word {
        Word::Entered(_) => format!("body {body} entered at tick {tick}"),
        Word::Changed(_, kept) if kept.is_empty() => format!("body {body} has a new flight at tick {tick}"),
        Word::Changed(_, kept) => {
            format!("body {body} has a new flight at tick {tick}, and {} contacts", kept.len())
        }
        Word::Parts(exchange, parts) => {
            format!("parts of {} bodies for exchange {exchange} of tick {tick}", parts.len())
        }
        Word::Cancelled => format!("what was told of body {body} at tick {tick} is taken back"),
    }
}

/// Lines about an action, from the states before and after it.
fn lines(next: RegionAction, before: &RegionState, after: &RegionState) -> Vec<String> {
    let moved = |region: u8, lines: &mut Vec<String>| {
        let [was, is] = [before, after].map(|state| &state.regions[region as usize]);
        if is.stats.rollbacks > was.stats.rollbacks {
            lines.push(format!("  rolls back from tick {} to {}", was.lvt, is.lvt));
        }
        if let Some(tick) = is.stuck.filter(|_| was.stuck.is_none()) {
            lines.push(format!("  is stuck at tick {tick}"));
        }
    };
    match next {
        RegionAction::Step(region) => {
            let mut lines =
                vec![format!("region {region} does tick {}", before.regions[region as usize].lvt)];
            moved(region, &mut lines);
            for ((from, to), letters) in after.links.iter().filter(|((from, _), _)| *from == region) {
                let known = before.links.get(&(*from, *to)).map_or(0, |letters| letters.len());
                for (_, bytes) in letters.iter().skip(known) {
                    lines.push(format!("  tells region {to}: {}", message_text(&opened(bytes))));
                }
            }
            lines
        }
        RegionAction::Deliver { from, to } => {
            let letter = before.links.get(&(from, to)).and_then(|letters| letters.front());
            let text = letter.map_or_else(String::new, |(_, bytes)| message_text(&opened(bytes)));
            let mut lines = vec![format!("region {to} learns from region {from}: {text}")];
            moved(to, &mut lines);
            lines
        }
        RegionAction::Commit(thread) => vec![format!("thread {thread} measures GVT, and commits")],
        RegionAction::Halt => vec!["all regions end, and one store goes on".to_owned()],
    }
}

/// A schedule in words, and the violation at its end.
pub(super) fn replay(model: &RegionModel, schedule: &[RegionAction]) -> (Vec<String>, Option<Violation>) {
    let mut state = model.start();
    let mut all = Vec::new();
    for (number, next) in schedule.iter().enumerate() {
        let before = state.clone();
        model.apply(&mut state, *next);
        for (index, line) in lines(*next, &before, &state).into_iter().enumerate() {
            all.push(if index == 0 { format!("{:>4}. {line}", number + 1) } else { format!("      {line}") });
        }
        for (thread, (was, is)) in before.gvts.iter().zip(&state.gvts).enumerate() {
            if is > was {
                all.push(format!("        thread {thread} takes GVT to be {is}"));
            }
        }
        if state.violation.is_some() {
            return (all, state.violation);
        }
    }
    let mut left = Vec::new();
    model.actions(&state, &mut left);
    let violation = if left.is_empty() { model.check_end(&state).err() } else { None };
    (all, violation)
}
