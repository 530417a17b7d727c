#!/usr/bin/env bash
# Checks every example in scenarios/ and runs the first 20 ms of it, but no longer than two seconds, so that no file there is ever broken.
#
#   tools/check-scenarios.sh FOREBAY
set -euo pipefail
forebay=$(realpath "$1")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

passed=0 failed=0
while IFS= read -r -d '' file; do
    if "$forebay" check "$file" >"$scratch/log" 2>&1 &&
        "$forebay" run "$file" --set duration=20ms --set observe.warmup=0s --runs 1 --max-time 2s \
            --progress none --out "$scratch/out-$((passed + failed))" >>"$scratch/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "scenario $file:" >&2
        cat "$scratch/log" >&2
    fi
done < <(find scenarios benches/scenarios -name '*.toml' -print0 | sort -z)

echo "scenarios: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
