#!/usr/bin/env bash
# Runs the commands and scenarios of README.md and docs/, so that they never show one that fails. tools/examples.py explains the marks of blocks.
#
#   tools/check-readme.sh FOREBAY [PAGE ...]
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
"$tools/setup.sh" --with-python
exec "${PYTHON:-python3}" "$tools/examples.py" "$@"
