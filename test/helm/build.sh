#!/bin/sh
# Builds the helm that the tests judge config/chart with, pinned by go.mod and go.sum, into test/helm/bin/.
#
# Needs Go. Takes minutes the first time, and nothing at all once the binary of this go.sum exists.
# Where $HELM names a helm, that is used and nothing is built.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$here/bin

say() { printf 'helm: %s\n' "$*" >&2; }

if [ -n "${HELM:-}" ]; then
    command -v "$HELM" >/dev/null || { say "HELM is $HELM, which is no program"; exit 1; }
    say "using HELM ($HELM)"
    exit 0
fi

# What is built is a function of these three files and of the toolchain's target.
stamp="$(cat "$here/go.mod" "$here/go.sum" "$here/build.sh" | cksum) ${GOOS:-}/${GOARCH:-}"
[ -x "$bin/helm" ] && [ "$(cat "$bin/.helm.stamp" 2>/dev/null)" = "$stamp" ] && exit 0

if ! command -v go >/dev/null 2>&1; then
    say "Go is missing: install it (https://go.dev/dl, the version in $here/go.mod or newer), or set HELM to a helm"
    exit 1
fi

say 'building helm (minutes when the Go cache is cold)'
mkdir -p "$bin"
# Two builds at once must not see each other's half-written binaries: each builds aside and renames.
work=$(mktemp -d "$bin/.build.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM
# -mod=readonly keeps go.mod and go.sum as they are checked in; GOFLAGS of the person's machine stays out of it.
(cd "$here" && GOFLAGS='' GOWORK=off CGO_ENABLED=0 \
    go build -mod=readonly -trimpath -buildvcs=false -ldflags='-s -w' -o "$work/helm" helm.sh/helm/v4/cmd/helm)
mv -f "$work/helm" "$bin/helm"
printf '%s\n' "$stamp" >"$bin/.helm.stamp"
say 'built helm'
