//! How long to look: `./test` has little time, `./test long` has much.

/// How many times as many random cases as usual. Where cases are counted out by hand, more than one means all of them.
pub fn patience() -> u32 {
    std::env::var("ANACHRON_CASES").map_or(1, |text| text.parse().expect("ANACHRON_CASES is a whole number"))
}
