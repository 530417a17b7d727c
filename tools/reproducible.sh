#!/usr/bin/env bash
# Builds the last commit twice, in folders with different names, and compares the results byte by byte.
#
#   tools/reproducible.sh binary [PROFILE]   the command (profile release)
#   tools/reproducible.sh wheel [PROFILE]    the Python wheel (profile wheel)
#   tools/reproducible.sh kernel             the guest kernel of the backend linux, by $FOREBAY (target/fast/forebay, of "make fast")
#
# RUSTFLAGS replaces the folders of the sources and of cargo in the programs. A build elsewhere needs these flags, the same compiler and linker, and
# the same commit.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
scratch=$target/reproducible
folders=("$scratch/a" "$scratch/another-folder/with a blank")

# The sources of the last commit in a folder.
checkout() {
    rm -rf "$1"
    mkdir -p "$1"
    git archive HEAD | tar -x -C "$1"
}

# Builds in the folder $1 with the options that follow.
in_folder() {
    local folder=$1
    shift
    # The separator of CARGO_ENCODED_RUSTFLAGS permits blanks in paths.
    (cd "$folder" && CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$folder=/forebay"$'\x1f'"--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
        CARGO_TARGET_DIR="$folder/target" CARGO_INCREMENTAL=0 "$@")
}

case $what in
binary)
    profile=${2:-release}
    built=target/$([ "$profile" = dev ] && echo debug || echo "$profile")/forebay
    for folder in "${folders[@]}"; do
        checkout "$folder"
        in_folder "$folder" cargo build --locked --quiet --profile "$profile" -p forebay --bin forebay
    done
    ;;
wheel)
    profile=${2:-wheel}
    built=wheel/forebay.whl
    maturin=$target/venv/bin/maturin
    [ -x "$maturin" ] || { echo "maturin is missing: \"make wheel\" installs it" >&2 && exit 1; }
    for folder in "${folders[@]}"; do
        checkout "$folder"
        in_folder "$folder" "$maturin" build --locked --quiet --profile "$profile" --out wheel
        mv "$folder"/wheel/forebay-*.whl "$folder/$built"
    done
    ;;
kernel)
    forebay=$(realpath -m "${FOREBAY:-$target/fast/forebay}")
    [ -x "$forebay" ] || { echo "$forebay is missing: \"make fast\" builds it, or FOREBAY names another command" >&2 && exit 1; }
    built=linux
    # The Makefile of Linux refuses blanks.
    folders[1]=$scratch/another-folder
    for folder in "${folders[@]}"; do
        rm -rf "$folder"
        mkdir -p "$folder"
        XDG_CACHE_HOME=$folder/cache "$forebay" kernel build
        cp "$folder"/cache/forebay/kernels/*/linux "$folder/$built"
    done
    ;;
*)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

for folder in "${folders[@]}"; do
    sha256sum "$folder/$built"
done
if ! cmp "${folders[0]}/$built" "${folders[1]}/$built"; then
    echo "reproducible: the two builds differ; they are in $scratch" >&2
    exit 1
fi
echo "reproducible: both builds of the $what are equal"
rm -rf "$scratch"
