#!/usr/bin/env bash
# Runs a check unless it has passed with the same input:
#
#   tools/unchanged.sh NAME INPUT... -- COMMAND [ARGUMENT...]
#
# INPUT is a file or a folder. target/passed/NAME holds the hash of the command and of all inputs after the check has passed. Only for checks whose
# outcome depends on nothing else; FOREBAY_AGAIN=1 runs them all.
set -euo pipefail
name=$1
shift
inputs=()
while [ "$1" != -- ]; do
    inputs+=("$1")
    shift
done
shift

stamp=${CARGO_TARGET_DIR:-target}/passed/$name
hash=$({
    printf '%s\n' "$@"
    find "${inputs[@]}" -type f -not -path '*/__pycache__/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
} | sha256sum)
if [ -z "${FOREBAY_AGAIN:-}" ] && [ -f "$stamp" ] && [ "$(<"$stamp")" = "$hash" ]; then
    echo "$name: passed before with the same input (FOREBAY_AGAIN=1 runs it again)"
    exit
fi
"$@"
mkdir -p "$(dirname "$stamp")"
echo "$hash" >"$stamp"
