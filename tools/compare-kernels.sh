#!/bin/sh
# Builds the kernels with the patches in tests/patches, and compares each with the kernel without them. A moved alpha of DCTCP and a wider window of
# RACK must be found and named. A patch that changes nothing must give no difference.
#
#     tools/compare-kernels.sh [FOREBAY]      some minutes; the kernel itself is built first where there is none
set -eu

forebay=${1:-target/debug/forebay}
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$forebay" kernel build --name unpatched
for patch in dctcp-alpha-one-ack-later rack-window-doubled nothing; do
    "$forebay" kernel build --patch "tests/patches/$patch.patch" --name "$patch"
done

failed=0
# Compares the unpatched kernel with `$1`: exit code `$2`, and every other argument is in the output.
expect() {
    patch=$1 code=$2
    shift 2
    found=0
    "$forebay" compare --kernel unpatched --kernel "$patch" >"$out/text" || found=$?
    head -1 "$out/text"
    if [ "$found" -ne "$code" ]; then
        echo "FAILED: $patch: exit code $found instead of $code" >&2
        failed=1
    fi
    for text in "$@"; do
        if ! grep -qF -e "$text" "$out/text"; then
            echo "FAILED: $patch: no \"$text\" in the output" >&2
            cat "$out/text" >&2
            failed=1
        fi
    done
}

expect dctcp-alpha-one-ack-later 1 "dctcp_alpha" "dctcp_update_alpha (net/ipv4/tcp_dctcp.c"
expect rack-window-doubled 1 "tcp_rack_reo_wnd (net/ipv4/tcp_recovery.c"
expect nothing 0 "No difference between kernels unpatched and nothing"
exit "$failed"
