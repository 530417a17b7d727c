#!/usr/bin/env bash
# Checks that programs, libraries and wheels need no newer glibc than a version, and no other library. They may be for another processor:
#
#   packaging/check-glibc.sh VERSION FILE...
set -euo pipefail
export LC_ALL=C
limit=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Parts of glibc, and its loader.
libraries='^(libc|libm|libdl|libpthread|librt|libutil|ld-linux[^.]*)\.so\.[0-9]+$'

check() { # FILE NAME
    local needed others newest missing
    needed=$(readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    if others=$(grep -vE "$libraries" <<<"$needed"); then
        echo "$2 needs libraries that are not parts of glibc: ${others//$'\n'/, }" >&2
        exit 1
    fi
    newest=$(readelf --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -1)
    if [ -z "$newest" ] || [ "$(printf '%s\n' "$limit" "$newest" | sort -V | tail -1)" != "$limit" ]; then
        echo "$2 needs glibc ${newest:-(no version found)}, and $limit is the newest one allowed" >&2
        exit 1
    fi
    # A library may be linked with symbols that its glibc lacks: these have no version. Symbols of Python have no version either.
    missing=$(readelf --dyn-syms --wide "$1" | awk '$5 == "GLOBAL" && $7 == "UND" && $8 !~ /@/ && $8 !~ /^_?Py/ { print $8 }')
    if [ -n "$missing" ]; then
        echo "$2 needs symbols that glibc $limit does not have: ${missing//$'\n'/, }" >&2
        exit 1
    fi
    echo "$2: $(readelf --file-header "$1" | sed -n 's/ *Machine: *//p'), glibc $newest or newer"
}

for file in "$@"; do
    case $file in
    *.whl)
        "${PYTHON:-python3}" -m zipfile --extract "$file" "$scratch/$(basename "$file")"
        while IFS= read -r library; do
            check "$library" "$(basename "$file")"
        done < <(find "$scratch/$(basename "$file")" -name '*.so')
        ;;
    *) check "$file" "$file" ;;
    esac
done
