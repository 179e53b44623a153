//! The `anachron` program: everything it does is in the library's `cli` module.

fn main() {}
