//! JSON for programs. Every object that a command prints opens with the number of its format.
//!
//! Within a format keys are added, never renamed or removed.

use serde::Serialize;

use crate::base::text::escaped;

/// The format of all JSON that commands print. Format 1, without a number, had other keys: see `CHANGELOG.md`.
const FORMAT: u32 = 2;

/// An object with the number of its format as its first key.
#[derive(Serialize)]
struct Numbered<'a, T> {
    format: u32,
    #[serde(flatten)]
    object: &'a T,
}

/// One JSON object on a line of its own.
pub(super) fn line(object: &impl Serialize) -> String {
    let text = serde_json::to_string(&Numbered { format: FORMAT, object });
    escaped(text.expect("invariant: numbers and texts can be written")) + "\n"
}

/// One JSON object over several lines.
pub(super) fn pretty(object: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(&Numbered { format: FORMAT, object });
    escaped(text.expect("invariant: numbers and texts can be written")) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Pair {
        b: u32,
        a: Option<f64>,
    }

    #[test]
    fn the_format_comes_first() {
        assert_eq!(line(&Pair { b: 1, a: None }), "{\"format\":2,\"b\":1,\"a\":null}\n");
        assert_eq!(
            pretty(&Pair { b: 1, a: Some(0.5) }),
            "{\n  \"format\": 2,\n  \"b\": 1,\n  \"a\": 0.5\n}\n"
        );
    }
}
