//! Numbers for the terminal, rounded. Programs get all digits from `--json`.

/// Digits of a number that are shown.
const DIGITS: i32 = 4;

/// A whole number in groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and what is counted.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number with four digits, in powers of ten where it is very large or small.
pub(super) fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{number:.*e}", (DIGITS - 1) as usize);
    }
    let before_point = libm::log10(size).floor() as i32 + 1;
    let text = format!("{number:.*}", (DIGITS - before_point).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A relative change: in percent, or in powers of ten if that would be next to nothing.
pub(super) fn change(share: f64) -> String {
    if share == 0.0 || share.abs() >= 1e-4 {
        format!("{:+.2} %", share * 100.0)
    } else {
        format!("{share:+.1e}")
    }
}

/// A span of time to wait for.
pub(super) fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0).ceil() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let table = [
            (grouped(0), "0"),
            (grouped(999), "999"),
            (grouped(1000), "1,000"),
            (grouped(1_234_567), "1,234,567"),
            (counted(1, "body", "bodies"), "1 body"),
            (counted(0, "body", "bodies"), "0 bodies"),
            (short(0.0), "0"),
            (short(1.0), "1"),
            (short(-9.81), "-9.81"),
            (short(261_799.4), "261799"),
            (short(0.001_234_56), "0.001235"),
            (short(1e-7), "1.000e-7"),
            (short(-2.5e9), "-2.500e9"),
            (short(f64::NAN), "NaN"),
            (short(f64::NEG_INFINITY), "-inf"),
            (change(0.0), "+0.00 %"),
            (change(-0.0321), "-3.21 %"),
            (change(2.5e-13), "+2.5e-13"),
            (span(-1.0), "0 s"),
            (span(59.2), "1 min 00 s"),
            (span(61.0), "1 min 01 s"),
            (span(7_325.0), "2 h 02 min"),
        ];
        for (told, expected) in table {
            assert_eq!(told, expected);
        }
    }
}
