#!/usr/bin/env bash
# Makes what krew installs: an archive of kubectl-broker for each platform that is named, and the manifest of those.
#
#   cli/krew.sh linux_amd64=target/release/kubectl-broker darwin_arm64=…
#
# URL=https://example.org/releases/v0.1.0   where the archives will be
# Writes to target/krew/: kubectl-broker_v0.1.0_linux_amd64.tar.gz, …, and broker.yaml. The same binaries make the same archives.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${KREW_OUT:-${CARGO_TARGET_DIR:-$root/target}/krew}

fail() {
    printf 'krew: %s\n' "$*" >&2
    exit 2
}

[ $# -gt 0 ] || fail "usage: $0 OS_ARCH=BINARY…, such as linux_amd64=target/release/kubectl-broker"
tar=$(command -v gtar || command -v tar || true)
"${tar:-false}" --version 2>/dev/null | grep -q 'GNU tar' || fail 'GNU tar is missing: apt-get install tar, or brew install gnu-tar'
if command -v sha256sum >/dev/null; then sums=(sha256sum); else sums=(shasum -a 256); fi
command -v "${sums[0]}" >/dev/null || fail 'sha256sum is missing: apt-get install coreutils'
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
[ -n "$version" ] || fail "$root/Cargo.toml: [workspace.package] has no version"
url=${URL:-https://example.org/releases/v$version}

mkdir -p "$out"
manifest=$(grep -v '^#' "$root/cli/krew.yaml")
manifest=${manifest//'${VERSION}'/"$version"}
manifest=${manifest//'${URL}'/"$url"}
for platform in "$@"; do
    name=${platform%%=*} binary=${platform#*=}
    variable=SHA256_$(printf %s "$name" | tr '[:lower:]' '[:upper:]')
    grep -q "\${$variable}" "$root/cli/krew.yaml" || fail "$name: cli/krew.yaml has no such platform"
    [ -f "$binary" ] || fail "$binary is not there: cargo build --locked --release --package kubectl-broker"
    staged=$(mktemp -d)
    install -m 755 "$binary" "$staged/kubectl-broker"
    install -m 644 "$root/LICENSE" "$staged/LICENSE"
    archive=$out/kubectl-broker_v${version}_$name.tar.gz
    "$tar" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$staged" -cf - kubectl-broker LICENSE | gzip -n >"$archive"
    rm -rf "$staged"
    sum=$("${sums[@]}" "$archive" | cut -d' ' -f1)
    manifest=${manifest//"\${$variable}"/$sum}
    printf '%s\n' "$archive"
done
# Platforms that were not named are none of this release.
awk '/^    - selector:/ { block = "" ; inside = 1 }
    inside { block = block $0 "\n"; if ($0 ~ /^      bin:/) { if (block !~ /\$\{/) printf "%s", block; inside = 0 } next }
    { print }' <<<"$manifest" >"$out/broker.yaml"
printf '%s\n' "$out/broker.yaml"
