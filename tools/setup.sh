#!/usr/bin/env bash
# Checks that this machine can build forebay: cargo and a C linker. Installs the linker where it may; says what to do
# where it may not. "make" calls it before every target that builds.
#
#   tools/setup.sh [--with-valgrind]
set -euo pipefail

# A fresh shell has not read rustup's environment file.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    local log
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # Package lists of a fresh machine are empty or old: refresh them only if the first attempt fails.
    if apt-get install -y --no-install-recommends "$@" >"$log" 2>&1 ||
        { apt-get update >>"$log" 2>&1 && apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1; }; then
        rm -f "$log"
        return 0
    fi
    tail -n 3 "$log" >&2
    rm -f "$log"
    return 1
}

if ! command -v cargo >/dev/null 2>&1; then
    echo "forebay needs Rust: no cargo on the PATH. Install it with rustup (https://rustup.rs) or your distribution's" >&2
    echo "packages (version 1.90 or newer) and run make again." >&2
    exit 1
fi

if ! command -v cc >/dev/null 2>&1; then
    echo "No C linker (cc) here, which Rust needs to link programs; trying to install one."
    if ! apt_install build-essential || ! command -v cc >/dev/null 2>&1; then
        echo "Could not install it. Install a C compiler (Debian, Ubuntu: apt install build-essential; Fedora: dnf install gcc;" >&2
        echo "macOS: xcode-select --install) and run make again." >&2
        exit 1
    fi
fi

if [ "${1:-}" = --with-valgrind ] && ! command -v valgrind >/dev/null 2>&1; then
    # libc6-dbg: valgrind refuses to start where it cannot find the symbols of the loader.
    apt_install valgrind libc6-dbg || echo "No valgrind here and no way to install it: instruction counts will be skipped."
fi
