#!/usr/bin/env bash
# Evaluates the claims of the papers and compares the verdicts with papers/quick.csv:
#
#   tools/check-verdicts.sh COMMAND [ARGUMENT...]     COMMAND is `python -m forebay.repro all` with its options
set -euo pipefail
out=${CARGO_TARGET_DIR:-target}/repro/quick
"$@" --out "$out"
diff -u papers/quick.csv "$out/verdicts.csv" || {
    echo 'verdicts changed: find the cause, then "make repro-refresh"' >&2
    exit 1
}
