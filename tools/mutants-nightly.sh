#!/usr/bin/env bash
# Runs cargo-mutants with .cargo/mutants.toml and prints its score:
#
#   tools/mutants-nightly.sh FOLDER [SHARD]     SHARD is for instance 3/8
#
# FOLDER/mutants.out has the lists. Mutations that a run before this one has caught are not repeated.
set -euo pipefail
out=$1
shard=${2:-}
mkdir -p "$out"
# Without information for debuggers they compile faster.
export CARGO_PROFILE_DEV_DEBUG=0
code=0
cargo mutants --iterate --no-shuffle --colors never --output "$out" ${shard:+--shard "$shard"} || code=$?
# 2: some were missed, 3: some ran into the limit; anything else is an error of the run.
case $code in 0 | 2 | 3) ;; *) exit "$code" ;; esac

lines() { cat "$out/mutants.out/$1.txt" 2>/dev/null | wc -l; }
caught=$(($(lines caught) + $(lines previously_caught) + $(lines timeout)))
missed=$(lines missed)
echo "cargo-mutants: $caught caught, $missed missed, $(lines unviable) do not compile"
if ((caught + missed)); then echo "score: $((100 * caught / (caught + missed))) %; the missed ones are in $out/mutants.out/missed.txt"; fi
