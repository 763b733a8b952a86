#!/usr/bin/env bash
# Runs a program as on a machine of its own: enter.sh WORK PROGRAM [ARGUMENT...], from run.sh. With its own processes,
# mounts, network and cgroups; `probe` as the program only tries what the node will need.
#
# In three steps, each of which is this script again: join the cgroups, be their root, be process 1.
set -euo pipefail
step=${ENTER_STEP:-join}
self=${BASH_SOURCE[0]}

join() {
    local cgroup
    while read -r cgroup; do
        echo $$ >"$cgroup/cgroup.procs"
    done <"$1/cgroups"
    ENTER_STEP=leave exec unshare --mount --cgroup --propagation private bash "$self" "$@"
}

# In version 2, a cgroup with processes in it hands no controllers down, so they move on, now that it is their root.
leave() {
    local cgroup
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        cgroup=$(cat "$1/cgroups")
        mkdir -p "$cgroup/system"
        echo $$ >"$cgroup/system/cgroup.procs"
    fi
    ENTER_STEP=settle exec unshare --pid --net --fork --kill-child --mount-proc bash "$self" "$@"
}

settle() {
    local work=$1
    shift
    unset ENTER_STEP
    mount_cgroups
    # Sockets and state of containerd, images and pods: gone with this namespace. A tmpfs can be below an overlay, which
    # what a container has for its root file system cannot.
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir /run/node-test
    keep /var/lib /var/log
    keep_sysctls
    # Volumes have to appear in containers.
    mount --make-rshared /
    ip link set lo up
    # No address of the machine's network, since there is no way to it: the API servers' own, and one per kubelet.
    ip address add 10.77.0.1/32 dev lo
    ip address add 10.77.0.11/32 dev lo
    ip address add 10.77.0.12/32 dev lo
    if [ "$1" = probe ]; then
        probe
        exit
    fi
    # Not `exec`: process 1 has to take in orphans, which bash does.
    "$@"
}

mount_cgroups() {
    local hierarchies=(/sys/fs/cgroup) controllers name node
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        umount -R /sys/fs/cgroup
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
    else
        umount -R /sys/fs/cgroup
        mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
        hierarchies=()
        for controllers in $(cut -d: -f2 /proc/self/cgroup | grep -v -e '^$' -e '^name='); do
            mkdir "/sys/fs/cgroup/$controllers"
            mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers"
            hierarchies+=("/sys/fs/cgroup/$controllers")
            for name in ${controllers//,/ }; do
                [ "$name" = "$controllers" ] || ln -s "$controllers" "/sys/fs/cgroup/$name"
            done
        done
    fi
    # One root per kubelet.
    for node in node-1 node-2; do
        for name in "${hierarchies[@]}"; do
            hand_down "$name"
            mkdir -p "$name/$node"
            hand_down "$name/$node"
        done
    done
}

# In version 2, controllers are there for those below only if they are named.
hand_down() {
    [ -e "$1/cgroup.controllers" ] || return 0
    sed -e 's/ / +/g' -e 's/^./+&/' "$1/cgroup.controllers" >"$1/cgroup.subtree_control"
}

# Kubelets and CNI plugins write to folders that no flag names. What they write goes where /run goes.
keep() {
    local folder aside
    for folder in "$@"; do
        aside=/run/aside$folder
        mkdir -p "$aside/upper" "$aside/work"
        mount -t overlay overlay -o "lowerdir=$folder,upperdir=$aside/upper,workdir=$aside/work" "$folder"
    done
}

# A kubelet sets these for the whole machine. It gets files of its own to write to.
keep_sysctls() {
    local setting
    mkdir /run/sysctl
    for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1 vm/panic_on_oom=0 \
        kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
        [ -e "/proc/sys/${setting%=*}" ] || continue
        echo "${setting#*=}" >"/run/sysctl/${setting//[\/=]/_}"
        mount --bind "/run/sysctl/${setting//[\/=]/_}" "/proc/sys/${setting%=*}"
    done
}

# What was not tried yet. The last line of what fails is shown to the person.
probe() {
    ip link add probe0 type bridge
    ip link add probe1 type veth peer name probe2
    unshare --mount --pid --net --ipc --uts --fork mount -t proc proc /proc
}

$step "$@"
