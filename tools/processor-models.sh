#!/usr/bin/env bash
# Compares results between models of x86-64: runs one scenario ten times on each emulated model (qemu-user), and once on this machine. All fingerprints
# must be equal. The models differ in their instruction sets, by which libraries choose code: SSE4.2, AVX, AVX2, and AVX2 with the
# extensions of another vendor.
#
#   tools/processor-models.sh [FOREBAY [SCENARIO]]      without SCENARIO, incasts of four congestion controls
set -euo pipefail
cd "$(dirname "$0")/.."

forebay=${1:-${CARGO_TARGET_DIR:-target}/debug/forebay}
models=(Nehalem SandyBridge Haswell EPYC)
runs=10

command -v qemu-x86_64 >/dev/null || { echo "Missing: qemu-x86_64 (Debian: apt install qemu-user)" >&2 && exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

scenario=${2:-$out/incast.toml}
cat >"$out/incast.toml" <<'END'
duration = "20ms"
[topology]
kind = "many-to-one"
senders = 4
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "60pkt", queue = { kind = "dctcp-step", k = "20pkt" } }
[transport]
stack = "linux"
cc = ["dctcp", "cubic", "bbr", "bbr3"]
[[workload]]
kind = "incast"
block = "32KB"
rounds = 8
END

# Prints the fingerprints of a run whose command begins with the arguments.
fingerprints() {
    rm -rf "$out/run"
    "$@" run "$scenario" --out "$out/run" --no-report >"$out/text" 2>&1 || { cat "$out/text" >&2 && exit 1; }
    grep -o '"fingerprint": *"[^"]*"' "$out/run/manifest.json"
}

fingerprints "$forebay" >"$out/here"
for model in "${models[@]}"; do
    for ((run = 1; run <= runs; run++)); do
        fingerprints qemu-x86_64 -cpu "$model" "$forebay" >"$out/there"
        if ! diff -u "$out/here" "$out/there"; then
            echo "processor-models: other fingerprints on $model, run $run" >&2
            exit 1
        fi
    done
    echo "$model: $runs runs have the fingerprints of this machine ($(wc -l <"$out/here") of them)"
done
