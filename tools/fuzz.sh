#!/usr/bin/env bash
# Mutates the inputs of the fuzz targets (tests/src/fuzz) by libFuzzer.
#
#   tools/fuzz.sh SECONDS [TARGET ...]
#   tools/fuzz.sh --blind SECONDS [TARGET ...]
#
# The first form is guided by coverage, in a build of its own (minutes). New inputs go to target/fuzz/corpus. The second form uses the build for
# development, without coverage: it reads every input of the corpus, then mutates them. FUZZ_SEED=N repeats the same mutations. SECONDS is the time of each target. An input that takes more than 20 s, 2 GiB of memory, or panics ends the run and is kept in target/fuzz/failures.
set -euo pipefail
cd "$(dirname "$0")/.."

blind=
if [ "${1:-}" = --blind ]; then
    blind=yes
    shift
fi
seconds=${1:?tools/fuzz.sh [--blind] SECONDS [TARGET ...]}
shift
target=${CARGO_TARGET_DIR:-target}
fuzz=$target/fuzz
list=tests/fuzz/targets.txt
features=libfuzzer
if [ "$(uname)" = Linux ] && command -v "${CLANG:-clang}" >/dev/null && pkg-config --exists libelf zlib 2>/dev/null; then
    features=libfuzzer,bpf
fi

if [ -n "$blind" ]; then
    program=$target/debug/forebay-fuzz
else
    host=$(rustc -vV | sed -n 's/^host: //p')
    # Coverage by LLVM's own pass, which needs no unstable option. With --target, build scripts and procedural macros are built without it.
    coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
        -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
    # Overflow checks and debug assertions stay, as in a build for development.
    RUSTFLAGS=$(echo $coverage) CARGO_PROFILE_DEV_INCREMENTAL=false \
        cargo build --locked --quiet -p forebay-tests --bin forebay-fuzz --features "$features" --target "$host" --target-dir "$fuzz/build"
    program=$fuzz/build/$host/debug/forebay-fuzz
fi

wanted=" $* "
ran=0
# Targets write small files.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
while read -r name folders; do
    case $name in '' | '#'*) continue ;; esac
    [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || continue
    case $name in guard-message | state-file) [[ $features == *bpf* ]] || continue ;; esac
    # libFuzzer writes inputs that count as new to the first folder. Inputs of blind runs are deleted.
    kept=$fuzz/corpus/$name
    if [ -n "$blind" ]; then
        kept=$fuzz/blind
        rm -rf "$kept"
    fi
    mkdir -p "$kept" "$fuzz/failures"
    # shellcheck disable=SC2086
    if ! env FOREBAY_FUZZ="$name" ${blind:+FOREBAY_FUZZ_BLIND=1} "$program" ${blind:+-keep_seed=1} ${FUZZ_SEED:+-seed="$FUZZ_SEED"} -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=16384 \
        -print_final_stats=1 -artifact_prefix="$fuzz/failures/$name-" $kept $folders \
        >"$fuzz/$name.log" 2>&1 </dev/null; then
        tail -n 40 "$fuzz/$name.log" >&2
        echo "fuzz: $name fails; the input is in $fuzz/failures. FOREBAY_FUZZ=$name $program FILE repeats it." >&2
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$fuzz/$name.log")
    printf '%-16s %8d inputs in %d s\n' "$name" "$runs" "$seconds"
    ran=$((ran + 1))
done <"$list"
[ "$ran" -gt 0 ] || { echo "fuzz: no such target: $*; $list lists them" >&2 && exit 2; }
