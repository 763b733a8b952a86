#!/usr/bin/env bash
# A short chaos with debug binaries, for machines that check every change: three minutes of faults, and the end.
#
#   test/chaos/run.sh                     # SEED=7: alike; MINUTES=1: shorter
#
# `make chaos` is the long one. Needs what `make controlplane` builds.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
[[ $target = /* ]] || target=$root/$target

# With the features of the whole workspace: what `make test` has built is not compiled again.
cargo build --quiet --locked --manifest-path "$root/Cargo.toml" --workspace \
    --bin chaos --bin resource-broker --bin resource-graphs
MINUTES=${MINUTES:-3} exec "$target/debug/chaos" --still 15 --logs "$target/chaos"
