#!/usr/bin/env bash
# Prints the section of a version in CHANGELOG.md:
#
#   packaging/release-notes.sh VERSION
set -euo pipefail
notes=$(awk -v head="## [$1]" 'index($0, "## [") == 1 { inside = index($0, head) == 1; next } inside' "$(dirname "$0")/../CHANGELOG.md")
if [ -z "${notes//[[:space:]]/}" ]; then
    echo "CHANGELOG.md has no section for version $1" >&2
    exit 1
fi
echo "$notes"
