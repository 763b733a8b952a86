#!/bin/sh
# Builds all that this example needs, and runs it: ends at Ctrl-C, or after its checks with ONCE=1 (or --once).
# Needs Rust, Go and a C compiler; nothing of it touches clusters that you have. Arguments go to the demo (--help).
set -eu
cd "$(dirname "$0")/../.."
make --no-print-directory controlplane
# Only what runs, with the features of the whole workspace: nothing is compiled twice.
cargo build --locked --workspace --bin resource-broker --bin resource-broker-operator --bin resource-graphs --bin kubectl-broker --bin demo
exec "${CARGO_TARGET_DIR:-target}/debug/demo" graphs "$@"
