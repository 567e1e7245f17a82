#!/usr/bin/env bash
# How often does `millrace compare` find a difference between identical settings? Runs the experiment of
# configs/experiments/identical_arms.toml again and again, each time with another seed, with a busy loop that comes and
# goes on one core. The arm `other` is the same as the baseline: every verdict `faster` or `slower` about it is false.
# Exit code 1 when there are more of them than the 5 % that are promised allow for (one in a thousand would be so
# unlucky).
#
#   tests/bench/compare_identical_arms.sh [COMPARISONS] [REPEATS]       default: 200 of 6 repeats
source "$(dirname "${BASH_SOURCE[0]}")/experiment.sh"
comparisons=${1:-200}
repeats=${2:-6}
config=$root/configs/experiments/identical_arms.toml

# Other load, pinned to the last core, in bursts of 0.1 to 1 s with pauses as long.
load() {
  local seed=1
  while :; do
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    timeout "0.$((seed / 65536 % 9 + 1))" bash -c 'while :; do :; done' || true
    sleep "0.$((seed / 16777216 % 9 + 1))"
  done
}
load &
loader=$!
taskset -pc "$(($(nproc) - 1))" "$loader" >/dev/null
trap 'kill "$loader"; rm -rf "$place"' EXIT

declare -A verdicts=()
for ((seed = 1; seed <= comparisons; seed++)); do
  "$millrace" compare "$config" --repeats "$repeats" --seed "$seed" --progress off --report "$place/compare.json" \
    >"$place/compare.txt"
  verdict=$(sed -n 's/^name=other .* \(faster\|slower\|equivalent\|inconclusive\) .*/\1/p' "$place/compare.txt")
  [ -n "$verdict" ] || { echo "no verdict in the table:" && cat "$place/compare.txt" && exit 1; }
  verdicts[$verdict]=$((${verdicts[$verdict]:-0} + 1))
done

false_claims=$((${verdicts[faster]:-0} + ${verdicts[slower]:-0}))
for verdict in faster slower equivalent inconclusive; do
  printf '%-12s %5d of %d\n' "$verdict" "${verdicts[$verdict]:-0}" "$comparisons"
done
awk -v n="$false_claims" -v of="$comparisons" 'BEGIN {
  most = 0.05 * of + 3.09 * sqrt(0.05 * 0.95 * of)
  printf "false claims: %.1f %% (promised: at most 5 %%)\n", 100 * n / of
  exit n > most
}'
