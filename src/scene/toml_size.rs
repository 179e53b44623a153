//! How large a TOML text becomes in memory: its reader keeps the whole text as a tree.

use crate::scene::SceneError;

/// Keys and tables that a TOML text may have: the reader takes up to 1.5 KiB for each.
const KEYS_MAX: usize = 1 << 20;

/// Refuses a text that would take the reader gigabytes of memory.
pub(super) fn check_keys(text: &str) -> Result<(), SceneError> {
    let keys = keys_in(text);
    if keys <= KEYS_MAX {
        return Ok(());
    }
    let problem = format!("has some {keys} keys and tables, and TOML may have {KEYS_MAX}");
    Err(SceneError::new("scene", problem, "write it as JSON, which takes less memory"))
}

/// Keys, tables and parts of dotted keys, about. Texts and comments that look like some are counted too.
fn keys_in(text: &str) -> usize {
    let (mut keys, mut before, mut dots_in_word) = (0, b'\n', 0);
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let is_key = match byte {
            b'=' | b'{' => true,
            b'[' => before == b'\n',
            b'.' => {
                dots_in_word += 1;
                let in_number = before.is_ascii_digit() && bytes.peek().is_some_and(u8::is_ascii_digit);
                !in_number || dots_in_word > 1
            }
            _ => false,
        };
        keys += usize::from(is_key);
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')) {
            dots_in_word = 0;
        }
        before = byte;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_makes_a_table_is_counted() {
        for (text, keys) in [
            ("", 0),
            ("seconds = 4.0\ngravity = [0.0, -9.81, 0.5]\n", 2),
            ("[[body]]\nshape = { sphere = { radius = 0.5 } }\n", 6),
            ("a.b.c = 1", 3),
            ("1.2.3 = 1", 2),
            ("\"a\".\"b\" . c = 1", 3),
            ("x = [{}, {}, [], 1.5, 2.5]", 3),
        ] {
            assert_eq!(keys_in(text), keys, "{text}");
        }
    }
}
