//! Suggestions for mistyped names: the nearest known name, and lists of known names. Never decides anything.

use std::fmt::Write;
use std::path::Path;

/// More names than this are counted, not listed.
const LISTED_MAX: usize = 24;
/// Longer names are not compared: such a name is no typing error, and comparing costs the product of lengths.
const COMPARED_CHARS_MAX: usize = 64;

/// The known name that was probably meant by `typed`, if one is close.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = typed.chars().take(COMPARED_CHARS_MAX + 1).collect();
    let close = (typed.len() / 3).clamp(1, 4);
    known
        .into_iter()
        .map(|name| (edits(&typed, name), name))
        .filter(|(distance, _)| *distance <= close)
        .min()
        .map(|(_, name)| name)
}

/// "did you mean `x`?" if a name is close, otherwise all of them: "use one of `x`, `y`".
pub(crate) fn suggest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let all = listed(known.clone());
    match nearest(typed, known) {
        Some(name) => format!("did you mean `{name}`? Possible: {all}"),
        None => format!("use one of {all}"),
    }
}

/// The names in backticks, separated by commas; long lists end in a count.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for (index, name) in names.into_iter().enumerate() {
        if index >= LISTED_MAX {
            left_out += 1;
            continue;
        }
        let separator = if index == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}`{}`", excerpt(name));
    }
    if left_out > 0 {
        let _ = write!(text, " and {left_out} more");
    }
    text
}

/// A path for a message: whole, without line breaks and control characters.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string().chars().map(printable).collect()
}

fn printable(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}

/// `text` short enough to be quoted in a message, without line breaks and control characters.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 120;
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).map(printable).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Levenshtein distance between `a` and `b`: insertions, deletions and replacements.
fn edits(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().take(COMPARED_CHARS_MAX + 1).collect();
    if a.len() > COMPARED_CHARS_MAX || b.len() > COMPARED_CHARS_MAX {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_only_if_it_is_near() {
        let known = ["position", "velocity", "shape"];
        assert_eq!(nearest("postion", known), Some("position"));
        assert_eq!(nearest("velocitie", known), Some("velocity"));
        assert_eq!(nearest("mass", known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn distances_are_those_of_the_textbook() {
        let distance = |a: &str, b: &str| edits(&a.chars().collect::<Vec<_>>(), b);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }

    #[test]
    fn long_lists_and_long_texts_are_cut() {
        let names: Vec<String> = (0..100).map(|i| format!("n{i}")).collect();
        assert!(listed(names.iter().map(String::as_str)).ends_with("`n23` and 76 more"));
        assert_eq!(excerpt(&"é".repeat(1000)).chars().count(), 121);
        assert_eq!(excerpt("a\u{1b}b\n"), "a\u{fffd}b\u{fffd}");
    }
}
