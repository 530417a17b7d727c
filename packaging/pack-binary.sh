#!/usr/bin/env bash
# Packs the command with manual pages, completions and licenses. The same input gives the same bytes:
#
#   packaging/pack-binary.sh FOREBAY STAGED ARCHIVE
#
# STAGED is a folder of packaging/stage.sh. ARCHIVE is NAME.tar.gz, and its only folder is NAME.
set -euo pipefail
root=$(dirname "$0")/..
name=$(basename "$3" .tar.gz)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/$name"
cp "$1" "$scratch/$name/forebay"
cp -r "$2/man" "$2/completions" "$scratch/$name/"
cp "$root"/{README.md,CHANGELOG.md,LICENSE,LICENSE-APACHE,LICENSE-MIT,THIRD-PARTY-NOTICES} "$scratch/$name/"
chmod -R u=rwX,go=rX "$scratch/$name"
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-0}" -c "$name" | gzip -9 --no-name >"$3"
