#!/usr/bin/env bash
# Tries to make the program fail, with random cases from a seed; see examples/fuzz/main.rs. Not part of ./test.
#   tests/fuzz.sh --seed 1 --minutes 15
#   tests/fuzz.sh --seed 1 --only scene --case 4711
# Ends with 1 if something was found. Its files are kept in target/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --release --bin anachron --example fuzz
exec target/release/examples/fuzz "$@"
