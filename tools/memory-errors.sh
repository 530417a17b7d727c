#!/usr/bin/env bash
# Looks for memory errors in the code with `unsafe` of the simulator.
#
#   tools/memory-errors.sh miri      undefined behavior and data races, by the interpreter Miri (rustup component add miri rust-src --toolchain nightly)
#   tools/memory-errors.sh address   accesses outside of objects and leaks, by AddressSanitizer
#
# Both run unit tests, and small cases of tests/torture on one to three threads. Miri is a thousand times slower than a compiled program, so it omits
# tests of many thousand steps, and those without unsafe code.
set -euo pipefail
cd "$(dirname "$0")/.."

# Cases of a few packets.
cases=(tests/torture/{mean-queue-of-one-datagram,queue-of-a-jittering-host,datagrams-under-a-failing-link}.toml)
target=${CARGO_TARGET_DIR:-target}

case ${1:-} in
miri)
    if ! cargo +nightly miri --version >/dev/null 2>&1; then
        echo "Miri is missing: rustup component add miri rust-src --toolchain nightly" >&2
        exit 1
    fi
    # Files and clocks are read. Rings keep the addresses of free memory as integers, and blocks until the process ends.
    export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-ignore-leaks"
    export CARGO_TARGET_DIR=$target/miri
    skipped=(exhaustive_ packets_are_sorted_with_ties ranks_keep_order pieces_are_disjoint times_match_a_simple_model limit_shrinks_after_a_second
        whole_burst_equals keeps_order_across_growth)
    cargo +nightly miri test --locked --quiet -p forebay-sim --lib -- "${skipped[@]/#/--skip=}" net:: engine::accept_queue engine::arrival_order
    cargo +nightly miri run --locked --quiet -p forebay-torture --example check -- "${cases[@]}"
    ;;
address)
    host=$(rustc -vV | sed -n 's/^host: //p')
    # Stable compilers have the sanitizers as well, but not the option to select one. With --target, build scripts and macros are built without it.
    export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" CARGO_PROFILE_DEV_INCREMENTAL=false CARGO_TARGET_DIR=$target/address
    cargo test --locked --quiet --target "$host" -p forebay-types -p forebay-queues -p forebay-experiment -p forebay-sim --lib
    cargo run --locked --quiet --target "$host" -p forebay-torture --example check -- tests/torture/*.toml
    ;;
*)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
