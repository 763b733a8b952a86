#!/usr/bin/env bash
# Fuzzes what strangers write, guided by coverage, with the stable toolchain: some targets at a time, each so long, from the
# inputs in corpus/. One line for each; an input with which something does not hold is kept, and the exit code is 1.
#
# FUZZ_SECONDS=60   how long, for each target
# FUZZ_LANES=2      how many targets at a time
# FUZZ_TARGETS=…    only these (the folders of corpus/)
# FUZZ_KEEP=1       take into corpus/ what was found on the way, without what adds nothing
# FUZZ_INPUT=file   only this input, on the one target of FUZZ_TARGETS: what a finding says
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

seconds=${FUZZ_SECONDS:-60}
lanes=${FUZZ_LANES:-2}
targets=${FUZZ_TARGETS:-$(cd corpus && ls)}
root=$(cd ../.. && pwd)
out=${CARGO_TARGET_DIR:-$root/target}/fuzz
# Most bytes that a target's corpus may have, and one input of it.
most=200000 most_of_one=8192
# What no input of 64 KiB may exceed: seconds, on a machine that has others to serve, and MiB.
limits=(-max_len=65536 -timeout=20 -rss_limit_mb=2048)

# As cargo-fuzz does it without a sanitizer: Rust's own checks are what is wanted here, and these flags are stable ones.
coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares)
# What is named by its host is built apart from build scripts and macros, which have no counters.
host=$(rustc -vV | sed -n 's/^host: //p')
# Exit code 77: this machine cannot run it.
command -v c++ >/dev/null || { echo 'c++ is missing, of which libFuzzer is built: apt-get install build-essential' >&2; exit 77; }
# The versions that the product is built with.
cp "$root/Cargo.lock" libfuzzer/Cargo.lock
(cd libfuzzer && unset RUSTC_WORKSPACE_WRAPPER && RUSTFLAGS="--cfg tokio_unstable --cfg fuzzing ${coverage[*]}" \
    cargo build --quiet --release --target "$host" --target-dir "$out")
fuzz=$out/$host/release/fuzz

if [ -n "${FUZZ_INPUT:-}" ]; then
    FUZZ_TARGET=$targets exec "$fuzz" "${limits[@]}" "$FUZZ_INPUT"
fi

stat() { # log, name
    sed -n "s/^stat::$2: *//p" "$1" | tail -1
}

one() { # target
    local target=$1 new=$out/new/$1 found=$out/findings/$1 log=$out/$1.log code=0 words=()
    rm -rf "$found"
    mkdir -p "$new" "$found"
    if [ -e "words/$target" ]; then words=(-dict="words/$target"); fi
    FUZZ_TARGET=$target "$fuzz" "${limits[@]}" "${words[@]}" -max_total_time="$seconds" -print_final_stats=1 -reload=0 \
        -artifact_prefix="$found/" "$new" "corpus/$target" >"$log" 2>&1 || code=$?
    if [ "$code" = 0 ] && [ -n "${FUZZ_KEEP:-}" ]; then keep "$target"; fi
    printf '%-18s %9s executions, %5s new inputs, %s findings\n' "$target" "$(stat "$log" number_of_executed_units)" \
        "$(stat "$log" new_units_added)" "$(find "$found" -type f | wc -l)"
    if [ "$code" != 0 ]; then
        # What it was that did not hold.
        grep -E -A 3 -m 1 '^thread .* panicked|ERROR: libFuzzer' "$log" | cut -c 1-600 || tail -3 "$log"
        find "$found" -type f -printf "again: FUZZ_TARGETS=$target FUZZ_INPUT=%p test/fuzz/run.sh\n"
        return 1
    fi
}

keep() { # target
    local target=$1 merged=$out/merged/$1 size
    rm -rf "$merged"
    mkdir -p "$merged"
    FUZZ_TARGET=$target "$fuzz" "${limits[@]}" -max_len="$most_of_one" -merge=1 "$merged" "corpus/$target" "$out/new/$target" \
        >"$out/$target.merge.log" 2>&1
    # The largest go where they are too many.
    while size=$(cat "$merged"/* | wc -c) && [ "$size" -gt "$most" ]; do
        rm "$merged/$(ls -S "$merged" | sed -n 1p)"
    done
    rm -rf "corpus/$target" "$out/new/$target"
    cp -r "$merged" "corpus/$target"
}

failed=0 running=0
for target in $targets; do
    if [ "$running" = "$lanes" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    one "$target" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit "$failed"
