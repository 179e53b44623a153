#!/usr/bin/env bash
# Runs scenes for minutes and fails if memory grows; see examples/soak/main.rs. Not part of ./test.
#   tests/soak.sh
#   tests/soak.sh --minutes 1 --only bowl
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --release --example soak
exec target/release/examples/soak "$@"
