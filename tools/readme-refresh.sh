#!/usr/bin/env bash
# Renews the blocks of docs/internals/speed.md that show real output: the demo's table, and the first table of the last "make bench".
#
#   tools/readme-refresh.sh FOREBAY [BENCH.md]
set -euo pipefail
forebay=$(realpath "$1")
bench=${2:-}
if [ -n "$bench" ]; then bench=$(realpath "$bench"); fi
cd "$(dirname "$0")/.."
page=docs/internals/speed.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# replace NAME FILE: what stands between the markers of NAME becomes FILE
replace() {
    awk -v name="$1" -v file="$2" '
        index($0, "<!-- " name ": begin") == 1 { print; while ((getline line < file) > 0) print line; skip = 1; next }
        index($0, "<!-- " name ": end") == 1 { skip = 0 }
        !skip' "$page" >"$scratch/page.md"
    cp "$scratch/page.md" "$page"
}

# In a directory of its own, so that the results' path reads as it does for a newcomer.
mkdir "$scratch/run"
repo=$PWD
(cd "$scratch/run" && "$forebay" run "$repo/scenarios/quickstart.toml" --progress none) >"$scratch/table"
{ echo '```text'; cat "$scratch/table"; echo '```'; } >"$scratch/demo"
replace demo "$scratch/demo"

if [ -n "$bench" ] && [ -f "$bench" ]; then
    # The first table only.
    awk '/^Median/ { print; print "" } /^\|/ { print; seen = 1; next } seen { exit }' "$bench" >"$scratch/bench"
    replace bench "$scratch/bench"
else
    echo "no results of make bench here: its block in $page stays as it is"
fi
