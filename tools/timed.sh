#!/usr/bin/env bash
# The shell of tools/side-by-side.mk: tools/timed.sh step:NAME FLAGS LINE runs a line of a recipe. It prints the seconds if they are 2 or more.
# The table target/test-times.csv gets a row, `step,seconds,processor,line`. Other steps that run at the same time change the seconds, but hardly the processor time.
# tools/timed.sh table prints the seconds of each step.
times=${CARGO_TARGET_DIR:-target}/test-times.csv
if [[ ${1-} == table ]]; then
  awk -F, 'NR > 1 { seconds[$1] += $2; processor[$1] += $3; total += $3 }
    END { for (step in seconds) if (seconds[step] > 1) printf "%6d s  %6d s of processor time  %s\n", seconds[step], processor[step], step
          printf "%6s    %6d s of processor time  total\n", "", total }' "$times" | sort -k1,1rn
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
# A subshell would print its own times. The second line is of the processes that have ended: 1m2.345s 0m1.234s.
spent=$(mktemp)
times >"$spent"
processor=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "m"); s += 60 * t[1] + t[2] } printf "%d", s + .5 }' "$spent")
rm -f "$spent"
echo "${step//,/ },$took,$processor,\"${line//\"/\"\"}\"" >>"$times" 2>/dev/null || true
exit $code
