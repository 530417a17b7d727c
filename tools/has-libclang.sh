#!/usr/bin/env bash
# Whether there is a libclang that can be loaded, where bindgen looks for one: it reads the headers of MPI.
set -euo pipefail

compgen -G "${LIBCLANG_PATH:-/nowhere}/libclang*.so*" >/dev/null && exit
compgen -G '/usr/lib/llvm*/lib/libclang*.so*' >/dev/null && exit
compgen -G '/usr/lib*/libclang*.so*' >/dev/null && exit
compgen -G '/usr/lib/*/libclang*.so*' >/dev/null
