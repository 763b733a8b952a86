#!/bin/sh
# Brings the prometheus and promtool that the tests load config/monitoring into to test/prometheus/bin/.
#
# Those in PATH are taken where both are there; else they come out of Debian's package, which is unpacked and not installed:
# no root, and no daemon that starts with it. Takes seconds the first time, and nothing at all once both are there. Exit code 77:
# this machine cannot get them, which says nothing of alerts and dashboard; what needs them is skipped.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$here/bin

say() { printf 'prometheus: %s\n' "$*" >&2; }

# A link may lead nowhere any more.
[ -x "$bin/prometheus" ] && [ -x "$bin/promtool" ] && exit 0

mkdir -p "$bin"
# Two of these at once must not see each other's half-written files: each works aside and renames.
work=$(mktemp -d "$bin/.fetch.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

if prometheus=$(command -v prometheus) && promtool=$(command -v promtool); then
    ln -s "$prometheus" "$work/prometheus"
    ln -s "$promtool" "$work/promtool"
else
    for program in apt-get dpkg-deb tar; do
        command -v "$program" >/dev/null 2>&1 || {
            say "prometheus and promtool are missing: install Prometheus (https://prometheus.io/download), and have both in PATH"
            exit 77
        }
    done
    say 'fetching Debian'\''s package of Prometheus (seconds)'
    cd "$work"
    # Lists of its own where the machine's are missing or old: those are root's, and somebody may be at them.
    download() { apt-get --quiet --quiet --option APT::Sandbox::User=root "$@" download prometheus; }
    lists="--option Dir::State::Lists=$work/lists --option Dir::Cache=$work/cache"
    # shellcheck disable=SC2086 # a list of words
    if ! download >log 2>&1 && ! {
        mkdir -p lists/partial cache/archives/partial &&
            apt-get --quiet --quiet --option APT::Sandbox::User=root $lists update && download $lists
    } >>log 2>&1; then
        cat log >&2
        say "the package prometheus cannot be downloaded: install it (apt-get install prometheus), or have prometheus and promtool in PATH"
        exit 77
    fi
    dpkg-deb --fsys-tarfile ./*.deb | tar -x --strip-components=3 ./usr/bin/prometheus ./usr/bin/promtool
fi

for program in prometheus promtool; do
    "$work/$program" --version >/dev/null 2>&1 || {
        say "$program does not run on this machine: have another prometheus and promtool in PATH"
        exit 1
    }
done
for program in prometheus promtool; do mv -f "$work/$program" "$bin/$program"; done
say "$("$bin/promtool" --version 2>&1 | head -n 1)"
