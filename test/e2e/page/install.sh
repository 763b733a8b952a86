#!/usr/bin/env bash
# Brings what looks at the page in a real browser: Chromium, Node and a font as Debian has them, and playwright-core, pinned by
# package-lock.json, which drives that Chromium and brings none of its own.
#
#   test/e2e/page/install.sh FOLDER      # node_modules come to be in FOLDER, outside of the sources
#
# As root with apt-get it installs what is missing. Where that is not to be had, its last line names it and its exit code is
# 77: this machine cannot run these tests, which says nothing of the page. Does nothing where all is there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: install.sh FOLDER}

say() { printf 'page: %s\n' "$*" >&2; }
cannot() {
    say "not run: $*"
    exit 77
}

# playwright-core needs this one.
NODE=18

is_node() {
    command -v node >/dev/null && [ "$(node --print 'parseInt(process.versions.node)')" -ge "$NODE" ]
}

missing_packages() {
    local packages=()
    [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || packages+=(chromium)
    is_node || packages+=(nodejs)
    command -v npm >/dev/null || packages+=(npm)
    [ -n "$(find /usr/share/fonts -name DejaVuSans.ttf -print -quit 2>/dev/null)" ] || packages+=(fonts-dejavu-core)
    echo "${packages[*]}"
}

missing=$(missing_packages)
if [ -n "$missing" ]; then
    named="on Debian these packages are missing: $missing (for Chromium elsewhere set CHROMIUM)"
    command -v apt-get >/dev/null || cannot "$named"
    [ "$(id -u)" = 0 ] || cannot "$named: sudo apt-get install $missing"
    say "apt-get install $missing"
    # shellcheck disable=SC2086 # a list of words
    install=(env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends $missing)
    { "${install[@]}" || { apt-get update --quiet=2 && "${install[@]}"; }; } >&2 || cannot "these packages could not be installed: $missing"
    missing=$(missing_packages)
    [ -z "$missing" ] || cannot "installed, but not found: what should be in $missing (Node from $NODE)"
fi

# Two suites of one machine, in two checkouts with one target, take turns.
mkdir -p "$folder"
exec {turn}>"$folder/.installing"
flock "$turn"
wanted=$(cksum <"$here/package-lock.json")
if [ ! -d "$folder/node_modules/playwright-core" ] || [ "$(cat "$folder/.installed" 2>/dev/null)" != "$wanted" ]; then
    cp "$here/package.json" "$here/package-lock.json" "$folder/"
    # No script of any package runs.
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error >&2 ||
        cannot "npm could not fetch what $here/package-lock.json names: is there a way to its registry?"
    echo "$wanted" >"$folder/.installed"
fi
