//! Texts in JSON.

/// The same JSON, with control characters beyond ASCII's own as escapes: a terminal would obey them. JSON has them in
/// texts only, where an escape means the same.
pub fn escaped(json: String) -> String {
    let is_control = |c: char| ('\u{7f}'..='\u{9f}').contains(&c);
    if !json.contains(is_control) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_control(c) {
            true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn control_characters_become_escapes() {
        let name = "a\u{80}b\u{9f}c\u{7f}é";
        let json = escaped(serde_json::to_string(name).unwrap());
        assert_eq!(json, r#""a\u0080b\u009fc\u007fé""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), name);
    }
}
