#!/usr/bin/env bash
# Checks that this machine can build forebay: cargo and a C linker. Installs the linker where it may; says what to do
# where it may not. "make" calls it before every target that builds. Some targets need more:
#
#   tools/setup.sh [--with-valgrind] [--with-python] [--with-browser] [--with-tshark] [--with-kernel] [--with-bpf] [--with-mpi] [--with-processors]
#                  [--with-target=TRIPLE]...
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

with_valgrind() {
    command -v valgrind >/dev/null 2>&1 && return
    # libc6-dbg: valgrind refuses to start where it cannot find the symbols of the loader.
    apt_install valgrind libc6-dbg || echo "No valgrind here and no way to install it: instruction counts will be skipped."
}

# Python 3.11 for the tests; the package itself takes 3.10.
python_is_fine() {
    "${PYTHON:-python3}" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

with_python() {
    python_is_fine && return
    if ! apt_install python3 python3-venv || ! python_is_fine; then
        echo "The tests of the Python package need Python 3.11 or newer with venv (Debian, Ubuntu: apt install python3-venv), and" >&2
        echo "it could not be installed. \"make PYTHON=/path/to/python3\" takes another one." >&2
        exit 1
    fi
}

with_browser() {
    command -v chromium >/dev/null 2>&1 && return
    if ! apt_install chromium || ! command -v chromium >/dev/null 2>&1; then
        echo "The tests of the report need Chromium (Debian: apt install chromium), and it could not be installed." >&2
        exit 1
    fi
}

with_tshark() {
    command -v tshark >/dev/null 2>&1 && return
    apt_install tshark || echo "No tshark here and no way to install it: the tests of captures by tshark will be skipped."
}

# Packages for the feature `bpf`, and iproute2 for its tests. The Makefile builds without the feature where one is missing.
with_bpf() {
    [ "$(uname)" = Linux ] || return 0
    { command -v clang && command -v ip && pkg-config --exists libelf zlib; } >/dev/null 2>&1 && return
    apt_install clang libelf-dev zlib1g-dev pkg-config iproute2 ||
        echo "No clang, libelf or zlib headers here and no way to install them: forebay will be built without BPF programs."
}

# Packages for the feature `mpi`. The Makefile builds without the feature where one is missing.
with_mpi() {
    command -v mpicc >/dev/null 2>&1 && command -v mpirun >/dev/null 2>&1 && "$(dirname "$0")/has-libclang.sh" && return
    apt_install openmpi-bin libopenmpi-dev libclang-dev ||
        echo "No MPI or libclang here and no way to install them: forebay will be built without MPI, for runs on one machine."
}

# Emulators, linkers and standard libraries of other processors; tools/processors.sh says what is still missing.
with_processors() {
    command -v qemu-s390x >/dev/null 2>&1 && command -v s390x-linux-gnu-gcc >/dev/null 2>&1 && command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 ||
        apt_install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross || true
    command -v rustup >/dev/null 2>&1 && rustup target add aarch64-unknown-linux-gnu s390x-unknown-linux-gnu >/dev/null 2>&1 || true
}

# Packages for a build of the guest kernel; "forebay doctor" checks in more detail and supports other distributions.
kernel_tools() {
    local tool
    for tool in gcc ld make flex bison bc xz; do
        command -v "$tool" >/dev/null 2>&1 || return 1
    done
}

kernel_sources() {
    compgen -G '/usr/src/linux-source-[6-9]*' >/dev/null
}

with_kernel() {
    [ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || return 0
    kernel_tools || apt_install gcc binutils libc6-dev make flex bison bc xz-utils || true
    kernel_sources || apt_install linux-source-6.12 || apt_install linux-source || true
    if ! kernel_tools || ! kernel_sources; then
        echo "The tests of the world linux need a kernel, and what builds it could not be installed (Debian: apt install gcc make flex bison" >&2
        echo "bc xz-utils linux-source-6.12). \"forebay doctor linux\" lists missing tools." >&2
        exit 1
    fi
}

# Rust's standard library for another target.
with_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] && return
    if ! command -v rustup >/dev/null 2>&1 || ! rustup target add "$1" >/dev/null 2>&1; then
        echo "No standard library of Rust for $1, and rustup could not install it (rustup target add $1). RELEASE_TARGETS= names" >&2
        echo "the targets to build." >&2
        exit 1
    fi
}

for option in "$@"; do
    case $option in
    --with-target=*) with_target "${option#--with-target=}" ;;
    --with-valgrind) with_valgrind ;;
    --with-python) with_python ;;
    --with-browser) with_browser ;;
    --with-tshark) with_tshark ;;
    --with-kernel) with_kernel ;;
    --with-bpf) with_bpf ;;
    --with-mpi) with_mpi ;;
    --with-processors) with_processors ;;
    *) echo "tools/setup.sh: no option $option" >&2 && exit 2 ;;
    esac
done
