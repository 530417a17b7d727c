#!/usr/bin/env bash
# Succeeds if bindgen, which reads the headers of MPI, can load a libclang from one of its search paths.
set -euo pipefail

compgen -G "${LIBCLANG_PATH:-/nowhere}/libclang*.so*" >/dev/null && exit
compgen -G '/usr/lib/llvm*/lib/libclang*.so*' >/dev/null && exit
compgen -G '/usr/lib*/libclang*.so*' >/dev/null && exit
compgen -G '/usr/lib/*/libclang*.so*' >/dev/null
