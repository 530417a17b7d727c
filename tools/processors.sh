#!/usr/bin/env bash
# Compares results between processors: runs small cases on this one, and emulated (qemu-user) on aarch64 and on s390x, which is big-endian.
#
#   tools/processors.sh [TARGET ...]
#
# Each target must give the fingerprints in tests/fingerprints.csv, and the same rows as this processor in 30 random cases
# (crates/torture/examples/digests.rs).
set -euo pipefail
cd "$(dirname "$0")/.."

cases=30
targets=("$@")
[ $# -gt 0 ] || targets=(aarch64-unknown-linux-gnu s390x-unknown-linux-gnu)
target=${CARGO_TARGET_DIR:-target}
results=$target/processors
mkdir -p "$results"

missing=()
for triple in "${targets[@]}"; do
    processor=${triple%%-*}
    command -v "qemu-$processor" >/dev/null || missing+=("qemu-$processor (Debian: apt install qemu-user)")
    command -v "$processor-linux-gnu-gcc" >/dev/null || missing+=("$processor-linux-gnu-gcc (Debian: apt install gcc-$processor-linux-gnu)")
    [ -d "$(rustc --print sysroot)/lib/rustlib/$triple/lib" ] || missing+=("the Rust standard library for $triple (rustup target add $triple)")
done
if [ ${#missing[@]} -gt 0 ]; then
    printf 'Missing: %s\n' "${missing[@]}" >&2
    exit 1
fi

# Built by "make tests".
"$target/debug/examples/digests" --first $cases >"$results/here.txt"
# The same cases, whatever is small elsewhere.
mapfile -t numbers < <(cut -d' ' -f1 "$results/here.txt")
[ ${#numbers[@]} = $cases ] || { echo "only ${#numbers[@]} of $cases cases are small" >&2 && exit 1; }

for triple in "${targets[@]}"; do
    processor=${triple%%-*}
    name=$(tr a-z- A-Z_ <<<"$triple")
    export "CARGO_TARGET_${name}_LINKER=$processor-linux-gnu-gcc"
    export "CARGO_TARGET_${name}_RUNNER=qemu-$processor -L /usr/$processor-linux-gnu"
    cargo run --locked --quiet --target "$triple" -p forebay-torture --example digests -- "${numbers[@]}" >"$results/$processor.txt"
    if ! diff -u "$results/here.txt" "$results/$processor.txt"; then
        echo "processors: other results on $processor. A line has the number of a case, its runs, transmissions, and the hash of its rows." >&2
        exit 1
    fi
    cargo test --locked --quiet --target "$triple" -p forebay-tests --test processors -- fingerprints::trajectories_are_as_recorded >"$results/$processor.log" 2>&1 || {
        tail -n 40 "$results/$processor.log" >&2
        echo "processors: other fingerprints on $processor" >&2
        exit 1
    }
    echo "$processor: $cases random cases and the fingerprints of tests/fingerprints.csv are equal"
done
