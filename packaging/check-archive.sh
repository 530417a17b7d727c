#!/usr/bin/env bash
# Unpacks a source archive in a folder of its own and tests it there, without git:
#
#   packaging/check-archive.sh ARCHIVE [COMMAND [ARGUMENT...]]
#
# Without COMMAND: builds the command, checks and runs an example, tests the crates below all others, and lints the text. "make test" as COMMAND runs
# every test. CARGO_TARGET_DIR keeps what was built.
set -euo pipefail
archive=$(realpath "$1")
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tar -xzf "$archive" -C "$scratch"
cd "$scratch"/*/
# A repository around the folder is not ours, and neither is one that the environment names.
unset GIT_DIR GIT_WORK_TREE
export GIT_CEILING_DIRECTORIES=$scratch
if [ $# -gt 0 ]; then
    "$@"
else
    cargo build --locked --quiet -p forebay
    forebay=${CARGO_TARGET_DIR:-target}/debug/forebay
    "$forebay" --version
    "$forebay" check scenarios/two-flows.toml >/dev/null
    "$forebay" run scenarios/two-flows.toml --runs 1 --quiet --out run
    cargo test --locked --quiet -p forebay-types -p forebay-queues --tests
    tools/words.py
fi
echo "archive: $(basename "$archive") builds and passes its tests in another folder, without git"
