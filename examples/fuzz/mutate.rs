//! Damages bytes, text and trees of values.

use serde_json::{Map, Number, Value, json};

use crate::dice::Dice;

/// Words that readers of numbers have trouble with.
const WORDS: &[&str] = &[
    "0",
    "-0.0",
    "-1",
    "1e-320",
    "1e308",
    "-1e308",
    "1e999",
    "nan",
    "-inf",
    "9223372036854775807",
    "18446744073709551616",
    "0x7fffffff",
    "1_000",
    "--1",
    "1.",
    ".5",
    "\"\"",
    "[]",
    "{}",
    "true",
    "null",
    "1e6",
    "1000000",
    "0.001",
];
/// Texts that are no good names, paths or choices.
const TEXTS: &[&str] = &[
    "",
    "nan",
    "auto",
    "\u{1b}[31m",
    "a\nb",
    "\u{202e}",
    "../..",
    "/dev/zero",
    "/dev/stdin",
    ".",
    "valley.obj",
    "missing.obj",
    "default",
    "\0",
    "ü",
    "#ff",
    "sphere",
];

/// Changes some bytes.
pub fn bytes(dice: &mut Dice, data: &mut Vec<u8>) {
    let length = data.len();
    match dice.below(7) {
        0 if length > 0 => {
            let at = dice.below(length);
            data[at] ^= 1 << dice.below(8);
        }
        1 if length > 0 => {
            let at = dice.below(length);
            data[at] = dice.next() as u8;
        }
        2 => data.truncate(dice.below(length + 1)),
        3 => {
            let range = dice.range(length, 64);
            data.drain(range);
        }
        4 => {
            let at = dice.below(length + 1);
            let count = 1 + dice.below(16);
            let new: Vec<u8> = (0..count).map(|_| dice.next() as u8).collect();
            data.splice(at..at, new);
        }
        5 => {
            let copied = data[dice.range(length, 256)].to_vec();
            let at = dice.below(data.len() + 1);
            data.splice(at..at, copied);
        }
        _ => {
            let range = dice.range(length, 32);
            let fill = *dice.pick(&[0, 0xff, b' ', b'9', b'[']);
            data[range].fill(fill);
        }
    }
}

/// Changes a line or a word, or some bytes.
pub fn text(dice: &mut Dice, data: &mut Vec<u8>) {
    let whole = String::from_utf8_lossy(data).into_owned();
    let mut lines: Vec<&str> = whole.split('\n').collect();
    let (from, to) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(6) {
        0 => {
            lines.remove(from);
        }
        1 => lines.insert(to, lines[from]),
        2 => lines.swap(from, to),
        3 | 4 => return *data = another_word(dice, &whole).into_bytes(),
        _ => return bytes(dice, data),
    }
    *data = lines.join("\n").into_bytes();
}

/// Replaces one number or name by another.
fn another_word(dice: &mut Dice, text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
    let mut words: Vec<(usize, &str)> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| is_part(*c)) {
        match words.last_mut() {
            Some((start, word)) if *start + word.len() == at => *word = &text[*start..at + c.len_utf8()],
            _ => words.push((at, &text[at..at + c.len_utf8()])),
        }
    }
    if words.is_empty() {
        return WORDS[0].to_owned();
    }
    let (start, word) = words[dice.below(words.len())];
    let long = "9".repeat(400);
    let new = match dice.below(10) {
        0 => words[dice.below(words.len())].1,
        1 => &long,
        _ => dice.pick(WORDS),
    };
    format!("{}{new}{}", &text[..start], &text[start + word.len()..])
}

/// Changes one value of a tree.
pub fn tree(dice: &mut Dice, root: &mut Value) {
    let mut paths = Vec::new();
    list_paths(root, String::new(), &mut paths);
    let path = dice.pick(&paths).clone();
    let other = root.pointer(&paths[dice.below(paths.len())]).cloned().unwrap_or_default();
    let Some(node) = root.pointer_mut(&path) else { return };
    match (dice.below(8), node) {
        (0 | 1, node) => *node = nasty(dice),
        (2, node) => *node = other,
        (3, Value::Object(map)) => rename(dice, map),
        (3, Value::Array(list)) if !list.is_empty() => {
            let at = dice.below(list.len());
            list.remove(at);
        }
        (4, Value::Array(list)) if !list.is_empty() => {
            let copy = list[dice.below(list.len())].clone();
            let most = (2000 / (1 + copy.to_string().len())).max(1);
            let count = 1 + dice.below(most);
            list.extend(std::iter::repeat_n(copy, count));
        }
        (4, Value::Object(map)) => {
            map.insert(dice.pick(TEXTS).to_string(), other);
        }
        (5, Value::Number(number)) => *number = another_number(dice, number),
        (6, node) => {
            let depth = 1 + dice.below(300);
            let mut inner = std::mem::take(node);
            for _ in 0..depth {
                inner = json!([inner]);
            }
            *node = inner;
        }
        (_, Value::Number(number)) => *number = another_number(dice, number),
        (_, node) => *node = nasty(dice),
    }
}

/// Changes one number of a tree; the result is often a good scene.
pub fn number(dice: &mut Dice, root: &mut Value) {
    let mut paths = Vec::new();
    list_paths(root, String::new(), &mut paths);
    paths.retain(|path| root.pointer(path).is_some_and(Value::is_number));
    let at = dice.below(paths.len());
    if let Some(Value::Number(number)) = paths.get(at).and_then(|path| root.pointer_mut(path)) {
        *number = another_number(dice, number);
    }
}

/// Some times as much, or with one bit turned. Whole numbers stay whole.
fn another_number(dice: &mut Dice, number: &Number) -> Number {
    if let (true, Some(whole)) = (dice.once_in(2), number.as_i64()) {
        return (whole ^ (1 << dice.below(8))).into();
    }
    let value = number.as_f64().unwrap_or(1.0);
    let factor = *dice.pick(&[-1.0, 0.0, 1e-6, 0.5, 0.9, 1.1, 2.0, 10.0, 1e6]);
    let turned = f64::from_bits(value.to_bits() ^ (1 << dice.below(64)));
    Number::from_f64(if dice.once_in(2) { value * factor } else { turned }).unwrap_or_else(|| 0.into())
}

fn list_paths(node: &Value, path: String, all: &mut Vec<String>) {
    match node {
        Value::Object(map) => {
            for (key, inner) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                list_paths(inner, format!("{path}/{key}"), all);
            }
        }
        Value::Array(list) => {
            for (at, inner) in list.iter().enumerate() {
                list_paths(inner, format!("{path}/{at}"), all);
            }
        }
        _ => {}
    }
    all.push(path);
}

/// Drops a key, or calls it differently.
fn rename(dice: &mut Dice, map: &mut Map<String, Value>) {
    let keys: Vec<String> = map.keys().cloned().collect();
    if keys.is_empty() {
        return;
    }
    let key = dice.pick(&keys).clone();
    let value = map.remove(&key).unwrap_or_default();
    match dice.below(3) {
        0 => {}
        1 => {
            map.insert(dice.pick(TEXTS).to_string(), value);
        }
        _ => {
            let mut letters: Vec<char> = key.chars().collect();
            let at = dice.below(letters.len());
            if !letters.is_empty() {
                letters.remove(at);
            }
            map.insert(letters.into_iter().collect(), value);
        }
    }
}

/// A value that seldom fits.
fn nasty(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0 => json!(0),
        1 => json!(-1),
        2 => json!(*dice.pick(&[1e-320, 1e-9, 1e9, 1e308, -1e308, -0.0])),
        3 => json!(*dice.pick(&[i64::MAX, i64::MIN, 1 << 32, 1_000_000])),
        4 => json!(u64::MAX),
        5 => json!(dice.pick(TEXTS)),
        6 => json!("x".repeat(10_000)),
        7 => json!([]),
        8 => json!({}),
        _ => dice.pick(&[json!(true), Value::Null, json!([1, 2]), json!([0.0, 0.0, 0.0])]).clone(),
    }
}
