#!/usr/bin/env bash
# Runs the commands of README.md, so that it never shows one that does not work.
#
#   tools/check-readme.sh FOREBAY
#
# Every line of a block that opens with exactly ```sh is run, in order, in a scratch directory that holds the scenarios;
# a block that opens with ```sh ignore is not. "make" runs in the repository, with the demo's results kept out of it.
set -euo pipefail
forebay=$(realpath "$1")
repo=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cp -r "$repo/scenarios" "$scratch/scenarios"
mkdir "$scratch/bin"
ln -s "$forebay" "$scratch/bin/forebay"
export PATH="$scratch/bin:$PATH"
export DEMO_ARGS="--progress none --out $scratch/demo"
# "make test" reads this file: without this, its README check would run for ever.
make() {
    if [ "${1:-}" = test ]; then return 0; fi
    command make --no-print-directory -C "$repo" FOREBAY="$forebay" "$@"
}

passed=0 failed=0
while IFS= read -r line; do
    case "$line" in '' | '#'*) continue ;; esac
    if (cd "$scratch" && eval "$line") >"$scratch/log" 2>&1 </dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "README.md: this command fails: $line" >&2
        cat "$scratch/log" >&2
    fi
done < <(awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$repo/README.md")

echo "README commands: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
