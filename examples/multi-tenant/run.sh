#!/bin/sh
# Builds all that this example needs, and runs it: ends at Ctrl-C, or after its checks with ONCE=1 (or --once).
# Needs Rust, Go and a C compiler; nothing of it touches clusters that you have. Arguments go to the demo (--help).
set -eu
cd "$(dirname "$0")/../.."
make --no-print-directory controlplane
cargo build --locked --workspace --bins
exec "${CARGO_TARGET_DIR:-target}/debug/multi-tenant-demo" "$@"
