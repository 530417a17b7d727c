#!/usr/bin/env bash
# The shell of tools/side-by-side.mk: runs a line of a recipe, and prints what it took where that was 2 s or more.
begin=$SECONDS
code=0
bash "$@" || code=$?
took=$((SECONDS - begin))
if ((took > 1)); then echo "    ($took s)"; fi
exit $code
