//! Counts on the command line: whole numbers within a range, also written as `1e6`.

use std::ops::RangeInclusive;

use crate::base::number::whole;

/// A parser of whole numbers within a range.
pub(super) fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = whole(text).filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            // What the type can hold is a limit too.
            let held = [u64::MAX, u64::from(u32::MAX), u64::from(u16::MAX), u64::from(u8::MAX)];
            let most = held.into_iter().find(|most| T::try_from(*most).is_ok()).unwrap_or(u64::MAX);
            match (range.start(), *range.end().min(&most)) {
                (first, u64::MAX) => format!("use a whole number of {first} or more, such as 1000 or 1e6"),
                (first, last) => format!("use a whole number from {first} to {last}, such as 1000 or 1e6"),
            }
        })
    }
}

/// Any number of something.
pub(super) fn any<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    count(0..=u64::MAX)(text)
}
