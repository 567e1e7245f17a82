# Sourced by the experiments beside it: runs of one config with different settings, in turn, in another order in each
# repeat, and their medians. Needs bash, awk and a built millrace.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
millrace=$root/build/millrace
place=$(mktemp -d -p "${TMPDIR:-/tmp}" millrace-experiment.XXXXXX)
trap 'rm -rf "$place"' EXIT

# field REPORT KEY: one figure of a stored report. The report has a line for each stage and each key of the top level.
field() {
  case $2 in
    wall_s) sed -n 's/^"wall_s": \([0-9.e+-]*\),*$/\1/p' "$1" ;;
    verdict) sed -n 's/^"verdict": {"kind":"\([^"]*\)","stage":"\([^"]*\)".*/\1:\2/p' "$1" | sed 's/:$//' ;;
    resident) sed -n '/"name":"read"/s/.*"resident_fraction":\([0-9.e+-]*\|null\).*/\1/p' "$1" ;;
    read_wait_s) sed -n '/"name":"read"/s/.*"io_wait":\([0-9.e+-]*\).*/\1/p' "$1" ;;
    *) sed -n "/\"name\":\"${2%.*}\"/s/.*\"${2#*.}\":\([0-9.e+-]*\).*/\1/p" "$1" ;;
  esac
}

# evict FILE: the page cache forgets it; the run's own report says whether it did.
evict() { dd of="$1" oflag=nocache conv=notrunc,fdatasync count=0 status=none; }

# arm NAME CONFIG ARGUMENT...: one more run of an arm; its report goes to $place/NAME.N.json.
declare -A runs
arm() {
  local name=$1 config=$2
  shift 2
  runs[$name]=$((${runs[$name]:-0} + 1))
  "$millrace" run "$config" --progress off --report "$place/$name.${runs[$name]}.json" "$@" >/dev/null
}

median() { sort -g | awk '{a[NR] = $1} END {print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2}'; }

# median_of NAME KEY: the median of a figure over the runs of an arm; null when it was not measured.
median_of() {
  local i value
  for ((i = 1; i <= runs[$1]; i++)); do
    value=$(field "$place/$1.$i.json" "$2")
    [ "$value" = null ] || [ -z "$value" ] || echo "$value"
  done | { median || true; }
}

# verdicts_of NAME: every verdict of an arm with how often it came.
verdicts_of() {
  local i
  for ((i = 1; i <= runs[$1]; i++)); do field "$place/$1.$i.json" verdict; done | sort | uniq -c | sort -rn |
    awk '{printf "%s%s x %s", (NR > 1 ? ", " : ""), $1, $2} END {print ""}'
}

# ratio_of A B: median over the repeats of (wall time of A / wall time of B).
ratio_of() {
  local i
  for ((i = 1; i <= runs[$1]; i++)); do
    awk -v a="$(field "$place/$1.$i.json" wall_s)" -v b="$(field "$place/$2.$i.json" wall_s)" 'BEGIN {print a / b}'
  done | median
}
