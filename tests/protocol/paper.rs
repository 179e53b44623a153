//! The published algorithm fails as `docs/papers.md` says, which also shows that such flaws can be found.

use anachron::internals::verify::{Sought, demonstrations, find};

#[test]
fn the_published_algorithm_deadlocks_and_commits_what_is_wrong() {
    let mut found_flaws = Vec::new();
    for shown in demonstrations() {
        let found = find(&shown.reading, shown.sought, 200, 60_000);
        let found = found.unwrap_or_else(|| panic!("{}: nothing found", shown.about));
        println!("{}: {} transitions, {} states", shown.about, found.transitions, found.states);
        println!("{}\n  => {}\n", found.trace.join("\n"), found.end.join("; "));
        found_flaws.push((shown.sought, found.transitions));
    }
    // A window of 1 tick: the first entity writes, the second writes and detects the contact, and both wait for ever.
    assert!(found_flaws[0].0 == Sought::Deadlock && found_flaws[0].1 <= 4, "{found_flaws:?}");
    assert!(found_flaws[1].0 == Sought::WrongCommit && found_flaws[1].1 <= 12, "{found_flaws:?}");
    assert!(found_flaws[2].0 == Sought::Deadlock && found_flaws[2].1 <= 14, "{found_flaws:?}");
    assert!(found_flaws[3].0 == Sought::WrongCommit && found_flaws[3].1 <= 24, "{found_flaws:?}");
}
