#!/usr/bin/env bash
# Writes the manual pages and shell completions that packages contain, from the registry of commands:
#
#   packaging/stage.sh FOREBAY DIR
set -euo pipefail
if ! [ -x "$1" ]; then
    echo "no program $1: pages are written by a command for this machine. Add it to RELEASE_TARGETS, or name one by STAGING_COMMAND=." >&2
    exit 1
fi
forebay=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2/completions"
"$forebay" man "$2/man"
"$forebay" completions bash >"$2/completions/forebay.bash"
"$forebay" completions zsh >"$2/completions/_forebay"
"$forebay" completions fish >"$2/completions/forebay.fish"
