#!/usr/bin/env bash
# The whole on a real node: etcd, API servers, controller manager, scheduler, kubelets and containerd with runc, without
# Docker; operator and broker from their images, installed and used as a platform team would (src/).
#
#   test/node/run.sh                      # `make test-node`
#   NODE_IMAGES=debug test/node/run.sh    # `make test`: no static binaries, what `cargo build` made is packed
#   HARNESS_KEEP=1 test/node/run.sh       # keeps logs, kubeconfigs and audit logs, and says where
#
# Needs Linux and root. Debian packages that are missing are installed, or named where there is no apt-get. The machine
# keeps its settings, its network and its cgroups: all runs in namespaces of its own, and everything that was started or
# made ends and goes with this script, however that ends.
#
# Exit code: 0 passed, 1 failed, 77 this host cannot run it (the last line says why).
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
[[ $target = /* ]] || target=$root/$target

case ${NODE_IMAGES:-static} in
static) quick='' ;;
debug) quick=1 ;;
*)
    echo "test-node: NODE_IMAGES=$NODE_IMAGES: static or debug" >&2
    exit 2
    ;;
esac

say() { printf 'test-node: %s\n' "$*" >&2; }
cannot() {
    say "not run: $*"
    exit 77
}

# --- what the host has to be ------------------------------------------------------------------------------------------

[ "$(uname -s)" = Linux ] || cannot "a kubelet needs Linux, this is $(uname -s)"
[ "$(id -u)" = 0 ] || cannot 'a kubelet needs root: sudo make test-node'
case $(uname -m) in
x86_64 | aarch64) ;;
*) cannot "images are made for x86_64 and aarch64, this is $(uname -m)" ;;
esac

# Debian's folder first, then everybody else's.
plugins() {
    local folder
    for folder in ${CNI_PATH:-} /usr/lib/cni /opt/cni/bin; do
        if [ -x "$folder/bridge" ] && [ -x "$folder/host-local" ] && [ -x "$folder/loopback" ]; then
            echo "$folder"
            return
        fi
    done
    return 1
}

missing_packages() {
    local packages=()
    { command -v containerd && command -v ctr; } >/dev/null || packages+=(containerd)
    command -v runc >/dev/null || packages+=(runc)
    plugins >/dev/null || packages+=(containernetworking-plugins)
    command -v musl-gcc >/dev/null || packages+=(musl-tools)
    [ -n "$quick" ] || command -v readelf >/dev/null || packages+=(binutils)
    command -v ip >/dev/null || packages+=(iproute2)
    { command -v unshare && command -v setsid; } >/dev/null || packages+=(util-linux)
    echo "${packages[*]}"
}

missing=$(missing_packages)
if [ -n "$missing" ]; then
    command -v apt-get >/dev/null ||
        cannot "programs are missing; on Debian they are in the packages: $missing (for CNI plugins elsewhere set CNI_PATH)"
    say "apt-get install $missing"
    # Where systemd runs, Debian starts a containerd with it. That one is the machine's: it is neither used nor ended.
    # shellcheck disable=SC2086 # a list of words
    install=(env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing)
    { "${install[@]}" || { apt-get update && "${install[@]}"; }; } >&2 || cannot "these packages could not be installed: $missing"
    missing=$(missing_packages)
    [ -z "$missing" ] || cannot "installed, but not found: what should be in $missing"
fi

# Images that ship hold static binaries. rustup reads which toolchain from the project's folder.
if [ -z "$quick" ]; then
    triple=$(uname -m)-unknown-linux-musl
    library=$(cd "$root" && rustc --print target-libdir --target "$triple" 2>/dev/null || true)
    [ -d "${library:-/nowhere}" ] || (cd "$root" && rustup target add "$triple") >&2 ||
        cannot "Rust's library for $triple is missing and could not be fetched: rustup target add $triple"
fi

# --- the end, whatever happens to this script -------------------------------------------------------------------------

work=$(mktemp -d "${TMPDIR:-/tmp}/node-test.XXXXXX")
# The guard reads from a pipe whose only writing end is held here; when this script ends, in whatever way, it cleans up.
exec {life}> >(exec setsid bash "$here/guard.sh" "$work")
guard=$!
child=''
finish() {
    [ -z "$child" ] || kill -TERM -- "-$child" 2>/dev/null || true
    exec {life}>&-
    wait "$guard" || true
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Runs a command that does not hold the pipe; in the background, so that signals need not wait for it, and as a group of
# its own (set -m), which is told to end with us.
run() {
    local code=0
    set -m
    "$@" {life}>&- &
    child=$!
    set +m
    wait $child || code=$?
    child=''
    return $code
}

# --- cgroups of our own, below the one we are in ----------------------------------------------------------------------

name=node-test-$$
: >"$work/cgroups"
leaf() { # FOLDER
    mkdir "$1" 2>/dev/null || cannot "no cgroup can be made in ${1%/*} (it is mounted read-only, or not ours)"
    echo "$1" >>"$work/cgroups"
}
if [ "$(stat --file-system --format=%T /sys/fs/cgroup 2>/dev/null)" = cgroup2fs ]; then
    # Below the root: anywhere else the processes that are there keep controllers from being handed down.
    leaf "/sys/fs/cgroup/$name"
    for controller in cpu memory pids; do
        grep -qw $controller "/sys/fs/cgroup/$name/cgroup.controllers" ||
            cannot "cgroup controller $controller is not handed down: see /sys/fs/cgroup/cgroup.subtree_control"
    done
else
    while IFS=: read -r _ controllers path; do
        case $controllers in
        '' | name=*) continue ;;
        esac
        mounted=/sys/fs/cgroup/$controllers
        [ -d "$mounted" ] || cannot "cgroup hierarchy $controllers is not mounted at $mounted"
        # In a container, the path is that of the machine, and what is mounted is already ours.
        parent=$mounted${path%/}
        [ -d "$parent" ] || parent=$mounted
        leaf "$parent/$name"
        if [ -e "$parent/$name/cpuset.cpus" ]; then
            # Empty ones take no process, and neither would theirs.
            cat "$parent/cpuset.cpus" >"$parent/$name/cpuset.cpus"
            cat "$parent/cpuset.mems" >"$parent/$name/cpuset.mems"
            echo 1 >"$parent/$name/cgroup.clone_children"
        fi
    done </proc/self/cgroup
fi
[ -s "$work/cgroups" ] || cannot 'this kernel has no cgroups'

# --- can it be done? before minutes of building -----------------------------------------------------------------------

run bash "$here/enter.sh" "$work" probe >"$work/probe.log" 2>&1 ||
    cannot "the kernel refuses what a node needs: $(tail -n 1 "$work/probe.log")"

# --- build ------------------------------------------------------------------------------------------------------------

run "$root/test/controlplane/build.sh" node
products=(resource-broker resource-broker-operator)
# All that the nodes will have: nothing is pulled.
images=$work/images
mkdir "$images"
# With the features of the whole workspace: what `make test` has built is not compiled again. Other suites, which run beside
# this one, have deadlines; and all of them wait for this one in the end.
build=(cargo build --locked --manifest-path "$root/Cargo.toml" --workspace --bin node-test --bin demo --bin kubectl-broker)
if [ -n "$quick" ]; then
    run nice -n 4 "${build[@]}" --bin "${products[0]}" --bin "${products[1]}"
    version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
    for product in "${products[@]}"; do
        run "$here/pack.sh" "$target/debug/$product" "localhost/$product:$version" "$images/$product.tar"
    done
else
    # As they are installed, but for what takes an optimiser minutes.
    run nice -n 4 env PROFILE=node IMAGES="$target/node-images" "$root/config/images/build.sh" "${products[@]}"
    run nice -n 4 "${build[@]}"
    for product in "${products[@]}"; do ln -s "$target/node-images/$product.tar" "$images/"; done
fi
run musl-gcc -static -Os -Wall -Werror -o "$work/pause" "$here/pause.c"
run "$here/pack.sh" "$work/pause" localhost/pause:1 "$images/pause.tar"
# What examples/certs/hub/migrationconfiguration.yaml has its Job run.
run "$here/pack.sh" "$target/debug/demo" registry.example.org/demo:0.1 "$images/demo.tar"

# --- go ---------------------------------------------------------------------------------------------------------------

code=0
run bash "$here/enter.sh" "$work" "$target/debug/node-test" \
    --directory "$work/lab" --images "$images" --plugins "$(plugins)" || code=$?
[ "$code" = 0 ] || [ "${HARNESS_KEEP:-}" = 1 ] || say 'HARNESS_KEEP=1 keeps the logs'
[ "$code" = 0 ] || code=1
exit $code
