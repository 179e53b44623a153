//! The published algorithm fails as its analysis says, which also shows that such faults can be found.

use anachron::verify::paper::{Sought, demonstrations, find};

#[test]
fn the_published_algorithm_deadlocks_and_commits_what_is_wrong() {
    let mut moves = Vec::new();
    for shown in demonstrations() {
        let found = find(&shown.reading, shown.sought, 200, 60_000);
        let found = found.unwrap_or_else(|| panic!("{}: nothing found", shown.about));
        println!("{}: {} moves, {} states", shown.about, found.moves, found.states);
        println!("{}\n  => {}\n", found.story.join("\n"), found.end.join("; "));
        moves.push((shown.sought, found.moves));
    }
    // A window of one: A writes, B writes and detects, and that is the end.
    assert!(moves[0].0 == Sought::Deadlock && moves[0].1 <= 4, "{moves:?}");
    assert!(moves[1].0 == Sought::WrongCommit && moves[1].1 <= 12, "{moves:?}");
    assert!(moves[2].0 == Sought::Deadlock && moves[2].1 <= 14, "{moves:?}");
    assert!(moves[3].0 == Sought::WrongCommit && moves[3].1 <= 24, "{moves:?}");
}
