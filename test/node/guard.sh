#!/usr/bin/env bash
# Cleans up after run.sh: waits until the pipe on its standard input is closed, which is when run.sh has ended, then kills
# what is left in run.sh's cgroups (which is nothing but what run.sh started), and removes these and its directory $1.
trap '' HUP INT TERM
work=$1
read -r _ || true

[ -s "$work/cgroups" ] && mapfile -t cgroups <"$work/cgroups"
members() { find "${cgroups[0]}" -name cgroup.procs -exec cat {} + 2>/dev/null; }

if [ ${#cgroups[@]} -gt 0 ]; then
    # Mounts and networks go with the processes of their namespaces.
    for ((tries = 0; tries < 100; tries++)); do
        processes=$(members)
        [ -n "$processes" ] || break
        # shellcheck disable=SC2086 # a list of ids
        kill -KILL $processes 2>/dev/null
        sleep 0.1
    done
    for cgroup in "${cgroups[@]}"; do
        find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null
        [ ! -d "$cgroup" ] || echo "test-node: left over: $cgroup" >&2
    done
fi

if [ "${HARNESS_KEEP:-}" = 1 ]; then
    echo "test-node: kept $work" >&2
else
    rm -rf -- "$work"
fi
