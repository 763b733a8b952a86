#!/bin/sh
# Builds the control plane that the tests, the demo and the bench run against: etcd, kube-apiserver,
# kube-controller-manager and kubectl, pinned by go.mod and go.sum, into test/controlplane/bin/.
#
#   test/controlplane/build.sh          # these four
#   test/controlplane/build.sh node     # and what a node needs: kube-scheduler and kubelet
#
# Needs Go. Takes minutes the first time, and nothing at all once the binaries of this go.sum exist.
# Where $KUBEBUILDER_ASSETS names a directory with such binaries (the layout of setup-envtest), those are
# used, and only what it lacks is built: setup-envtest has no kube-controller-manager.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$here/bin
assets=${KUBEBUILDER_ASSETS:-}

say() { printf 'controlplane: %s\n' "$*" >&2; }

names='etcd kube-apiserver kube-controller-manager kubectl'
case ${1:-} in
    '') ;;
    node) names="$names kube-scheduler kubelet" ;;
    *) say "usage: $0 [node]"; exit 2 ;;
esac

needed=''
for name in $names; do
    if [ -n "$assets" ] && [ -x "$assets/$name" ]; then
        say "$name: using KUBEBUILDER_ASSETS ($assets)"
    else
        needed="$needed $name"
    fi
done
[ -n "$needed" ] || exit 0

# What is built is a function of these three files and of the toolchain's target.
stamp=$(cat "$here/go.mod" "$here/go.sum" "$here/build.sh" | cksum)
stamp="$stamp ${GOOS:-}/${GOARCH:-}"

missing=''
for name in $needed; do
    if [ ! -x "$bin/$name" ] || [ "$(cat "$bin/.$name.stamp" 2>/dev/null)" != "$stamp" ]; then
        missing="$missing $name"
    fi
done
[ -n "$missing" ] || exit 0

if ! command -v go >/dev/null 2>&1; then
    say "Go is missing, and with it:$missing"
    say "Install Go (https://go.dev/dl, the version in $here/go.mod or newer),"
    say "or set KUBEBUILDER_ASSETS to a directory that holds these binaries."
    exit 1
fi

# Clients choke on a server that calls itself v0.0.0-master, so the version is linked in.
version=$(cd "$here" && GOFLAGS='' GOWORK=off go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
minor=${minor%%.*}
meta=k8s.io/component-base/version
flags="-s -w -X $meta.gitVersion=$version -X $meta.gitMajor=1 -X $meta.gitMinor=$minor -X $meta.gitTreeState=clean"

say "building$missing, Kubernetes $version (minutes when the Go cache is cold)"
mkdir -p "$bin"
# Two builds at once must not see each other's half-written binaries: each builds aside and renames.
work=$(mktemp -d "$bin/.build.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

for name in $missing; do
    case $name in
        etcd) package=go.etcd.io/etcd/server/v3 ;;
        *) package=k8s.io/kubernetes/cmd/$name ;;
    esac
    # -mod=readonly keeps go.mod and go.sum as they are checked in; GOFLAGS of the person's machine stays out of it.
    (cd "$here" && GOFLAGS='' GOWORK=off CGO_ENABLED=0 \
        go build -mod=readonly -trimpath -buildvcs=false -ldflags="$flags" -o "$work/$name" "$package")
    mv -f "$work/$name" "$bin/$name"
    printf '%s\n' "$stamp" >"$bin/.$name.stamp"
    say "built $name"
done
