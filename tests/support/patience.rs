//! How many random cases to run: few in `./test`, many in `./test long`.

/// Factor on the number of random cases. Where cases are listed by hand, more than 1 means all of them.
pub fn patience() -> u32 {
    std::env::var("ANACHRON_CASES").map_or(1, |text| text.parse().expect("ANACHRON_CASES is a whole number"))
}
