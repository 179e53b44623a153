//! Flags with values.

use std::collections::BTreeMap;

pub struct Options(BTreeMap<String, String>);

impl Options {
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = BTreeMap::new();
        while let Some(flag) = arguments.next() {
            let name = flag.strip_prefix("--").ok_or_else(|| format!("`{flag}` is no flag"))?;
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            options.insert(name.to_owned(), value);
        }
        Ok(Options(options))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A number, also as a fraction like `1/60`.
    pub fn number(&self, name: &str, usual: f64) -> Result<f64, String> {
        let Some(text) = self.text(name) else { return Ok(usual) };
        let (above, below) = text.split_once('/').unwrap_or((text, "1"));
        match (above.parse::<f64>(), below.parse::<f64>()) {
            (Ok(above), Ok(below)) if above / below > 0.0 && (above / below).is_finite() => Ok(above / below),
            _ => Err(format!("--{name} {text}: write a number above 0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_and_missing_values() {
        let read = |text: &str| Options::read(text.split_whitespace().map(str::to_owned));
        let options = read("--dt 1/4 --repeat 0").unwrap();
        assert_eq!((options.number("dt", 9.0), options.number("seconds", 2.0)), (Ok(0.25), Ok(2.0)));
        assert!(options.number("repeat", 1.0).is_err() && read("--dt").is_err() && read("dt 3").is_err());
    }
}
