//! Lists of numbers on the command line: `1,2,4`, `1..8`, `1..max`.

use crate::base::number::whole;

/// A list of whole numbers, ascending and without repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers(pub Vec<u32>);

/// More than this many numbers of a range are thinned out to doublings.
const RANGE_MAX: u32 = 16;
/// The longest list that is accepted.
const NUMBERS_MAX: usize = 256;

/// Reads a list; `max` stands for the number of cores.
pub(super) fn numbers(text: &str) -> Result<Numbers, String> {
    let mut list = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((from, to)) => list.extend(range(number(from)?, number(to)?)?),
            None => list.push(number(part)?),
        }
        if list.len() > NUMBERS_MAX {
            return Err(format!("name at most {NUMBERS_MAX} numbers"));
        }
    }
    list.sort_unstable();
    list.dedup();
    Ok(Numbers(list))
}

/// All numbers of a short range; the doublings and the end of a long one.
fn range(from: u32, to: u32) -> Result<Vec<u32>, String> {
    if from > to {
        return Err(format!("`{from}..{to}` is empty; write the smaller number first"));
    }
    if to - from < RANGE_MAX {
        return Ok((from..=to).collect());
    }
    let doublings = std::iter::successors(Some(from), |at| at.checked_mul(2)).take_while(|at| *at < to);
    Ok(doublings.chain([to]).collect())
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    if text == "max" {
        return Ok(std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32));
    }
    match whole(text) {
        Some(number @ 1..=10_000_000) => Ok(number as u32),
        _ => {
            Err(format!("`{text}` is not a number from 1 to 10000000; write for example `1,2,4` or `1..max`"))
        }
    }
}

/// Prices of a message, microseconds, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prices(pub Vec<f64>);

/// Reads prices.
pub(super) fn prices(text: &str) -> Result<Prices, String> {
    let price = |part: &str| match part.trim().parse::<f64>() {
        Ok(price) if (0.0..=1e6).contains(&price) => Ok(price),
        _ => Err(format!("`{part}` is not a number of microseconds from 0 to 1000000")),
    };
    text.split(',').map(price).collect::<Result<_, _>>().map(Prices)
}

/// A span of simulated time.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => Err(format!("`{text}` is not a number of seconds above 0 and up to 1000000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        assert_eq!(numbers("4,1,2,2").unwrap().0, [1, 2, 4]);
        assert_eq!(numbers("1..4").unwrap().0, [1, 2, 3, 4]);
        assert_eq!(numbers("1..64").unwrap().0, [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(numbers("3, 10_000, 1e6").unwrap().0, [3, 10_000, 1_000_000]);
        assert!(numbers("1..max").unwrap().0.starts_with(&[1]));
        for wrong in ["", "0", "4..1", "a", "1,,2", "-1", "1.5", "99999999999"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
        assert_eq!(prices("0.2, 20").unwrap().0, [0.2, 20.0]);
        assert!(prices("-1").is_err() && prices("").is_err() && prices("nan").is_err());
        assert!(seconds("0").is_err() && seconds("nan").is_err() && seconds("0.5").is_ok());
    }
}
