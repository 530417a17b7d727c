#!/usr/bin/env bash
# Checks every example scenario and runs its beginning: 20 ms of those in scenarios/, 1 ms of the larger ones in benches/scenarios/. A run takes at
# most 20 s, set-up included.
#
#   tools/check-scenarios.sh FOREBAY
set -euo pipefail
forebay=$(realpath "$1")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

passed=0 failed=0
while IFS= read -r -d '' file; do
    case $file in
    benches/*) duration=1ms ;;
    *) duration=20ms ;;
    esac
    status=0
    { "$forebay" check "$file" >"$scratch/log" 2>&1 &&
        "$forebay" run "$file" --set duration=$duration --set observe.warmup=0s --runs 1 --max-time 20s \
            --progress none --out "$scratch/out-$((passed + failed))" >>"$scratch/log" 2>&1; } || status=$?
    # Expectations are those of the whole duration: status 1 after their lines is that of an unmet one.
    if [ $status = 1 ] && grep -q '^\[\[expect\]\]' "$file" && grep -q '^expect ' "$scratch/log"; then
        status=0
    fi
    if [ $status = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "scenario $file:" >&2
        cat "$scratch/log" >&2
    fi
done < <(find scenarios benches/scenarios -name '*.toml' -print0 | sort -z)

echo "scenarios: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
