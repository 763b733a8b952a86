#!/bin/sh
# Compiles one binary of this workspace as a static executable for this machine's architecture, to be the only file of
# an image, and prints its path:
#
#   config/images/compile.sh resource-broker
#
# PROFILE names another profile of Cargo's than `release`.
# The same sources give the same bytes, wherever they and the target folder are: no path of this machine gets in.
# Needs Rust with the musl target and musl-gcc. What is missing is installed where that is a matter of one command
# (rustup; apt-get as root), else named.
set -eu

say() { printf 'images: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

[ $# = 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
binary=$1
profile=${PROFILE:-release}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root"

[ "$(uname -s)" = Linux ] || fail "a static Linux binary is built on Linux: run this there, or build the Containerfile"
case $(uname -m) in
    x86_64) triple=x86_64-unknown-linux-musl ;;
    aarch64 | arm64) triple=aarch64-unknown-linux-musl ;;
    *) fail "no image is made for $(uname -m): only x86_64 and aarch64 are supported" ;;
esac
variable=$(printf '%s' "$triple" | tr - _)

# --- tools ------------------------------------------------------------------------------------------------------------

command -v cargo >/dev/null || fail 'cargo is missing: install Rust with rustup, https://rustup.rs'

library=$(rustc --print target-libdir --target "$triple" 2>/dev/null || true)
if [ ! -d "${library:-/nowhere}" ]; then
    command -v rustup >/dev/null ||
        fail "Rust's standard library for $triple is missing: install it (with rustup: rustup target add $triple)"
    say "rustup target add $triple"
    rustup target add "$triple" >&2
fi

# Crates with C in them (ring, mimalloc) are compiled against musl's headers. Where cc is musl's own, it will do.
if command -v musl-gcc >/dev/null; then
    compiler=musl-gcc
elif command -v cc >/dev/null && cc -dumpmachine | grep -q musl; then
    compiler=cc
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say 'apt-get install musl-tools'
    { apt-get install -y --no-install-recommends musl-tools ||
        { apt-get update && apt-get install -y --no-install-recommends musl-tools; }; } >&2
    compiler=musl-gcc
else
    fail 'musl-gcc is missing: apt-get install musl-tools (Fedora: dnf install musl-gcc)'
fi
command -v readelf >/dev/null || fail 'readelf is missing: apt-get install binutils'

# --- compile ----------------------------------------------------------------------------------------------------------

package=$(config/images/package.sh "$binary")
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)

# Rust's panics and C's assertions hold file names. The flags of the person's own environment stay out.
unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS CFLAGS TARGET_CFLAGS CARGO_BUILD_TARGET
separator=$(printf '\037')
CARGO_ENCODED_RUSTFLAGS=$(printf '%s' "--remap-path-prefix=$root=/src$separator" \
    "--remap-path-prefix=$target=/src/target$separator" "--remap-path-prefix=$home=/cargo$separator" \
    "--remap-path-prefix=$sysroot=/rust")
export CARGO_ENCODED_RUSTFLAGS
export "CC_$variable=$compiler"
maps="-ffile-prefix-map=$root=/src -ffile-prefix-map=$target=/src/target -ffile-prefix-map=$home=/cargo"
export "CFLAGS_$variable=$maps"
export SOURCE_DATE_EPOCH=0

# One binary, one build: the features of its dependencies do not depend on what else is built. Where it is not to be
# shipped, several binaries share what they have in common.
selection=--package=$package
[ "$profile" = release ] || selection=--workspace
cargo build --locked --profile "$profile" --target "$triple" --target-dir "$target" "$selection" --bin "$binary" >&2
output=$target/$triple/$profile/$binary

# --- check ------------------------------------------------------------------------------------------------------------

# In an image without any other file there is neither a loader nor a library.
if readelf --program-headers --wide "$output" | grep -q INTERP ||
    readelf --dynamic --wide "$output" | grep -q NEEDED; then
    readelf --dynamic --wide "$output" | grep NEEDED >&2 || true
    fail "$output is not static: it asks for a loader or the libraries above; a dependency links against the system"
fi
printf '%s\n' "$output"
