//! Whole numbers as people write them: `1000000`, `1_000_000`, `1e6`.

/// The largest whole number below which all are exact as a float.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads a whole number that is not negative; nothing if the text is anything else, or a fraction.
pub fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let is_number = |c: char| c.is_ascii_digit() || "_.eE+".contains(c);
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.chars().all(is_number) {
        return None;
    }
    let digits = text.replace('_', "");
    let from_float = |number: f64| (number.fract() == 0.0 && number <= EXACT_MAX).then_some(number as u64);
    digits.parse().ok().or_else(|| digits.parse().ok().and_then(from_float))
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn counts_are_read_in_every_spelling() {
        for (text, number) in [
            ("0", 0),
            ("1e6", 1_000_000),
            ("2.5e3", 2500),
            ("1E+2", 100),
            ("10_000", 10_000),
            ("3.0", 3),
            (" 7 ", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(whole(text), Some(number), "{text}");
        }
        for wrong in
            ["", "-1", "1.5", "1e", "e6", "1e-3", "inf", "nan", "1e300", "0x10", "_1", "1 000", "1e16"]
        {
            assert_eq!(whole(wrong), None, "{wrong}");
        }
    }
}
