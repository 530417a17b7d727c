#!/usr/bin/env bash
# The shell of tools/side-by-side.mk: tools/timed.sh step:NAME FLAGS LINE runs a line of a recipe. It prints the seconds if they are 2 or more, and
# appends `step,seconds,line` to target/test-times.csv. tools/timed.sh table prints the seconds of each step.
times=${CARGO_TARGET_DIR:-target}/test-times.csv
if [[ ${1-} == table ]]; then
  awk -F, 'NR > 1 { seconds[$1] += $2 } END { for (step in seconds) if (seconds[step] > 1) printf "%6d s  %s\n", seconds[step], step }' "$times" |
    sort -rn
  exit
fi
step=make
if [[ ${1-} == step:* ]]; then
  step=${1#step:}
  shift
fi
begin=$SECONDS
code=0
bash "$@" || code=$?
took=$((SECONDS - begin))
if ((took > 1)); then echo "    ($took s)"; fi
line=${*: -1}
line=${line//$'\n'/ }
echo "${step//,/ },$took,\"${line//\"/\"\"}\"" >>"$times" 2>/dev/null || true
exit $code
