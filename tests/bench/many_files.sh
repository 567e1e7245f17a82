#!/usr/bin/env bash
# What it costs to have reads in many small files: the same reads in N files and in one, read and decoded by millrace
# from a warm cache, in turn, in another order in each repeat. Prints for each format the medians of the whole run
# (start to exit, indexing included), the index alone (`millrace check`), and how fast the many are beside the one.
# With a least ratio it fails below that.
#
#   tests/bench/many_files.sh [FILES] [READS_PER_FILE] [REPEATS] [LEAST_RATIO] [FORMATS]
#   default: 2000 20 5 0 "pod5 blow5 fast5"; files go to $TMPDIR
set -euo pipefail
export LC_ALL=C
millrace=${MILLRACE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/millrace}
files=${1:-2000}
reads_per_file=${2:-20}
repeats=${3:-5}
least=${4:-0}
formats=${5:-pod5 blow5 fast5}
place=$(mktemp -d -p "${TMPDIR:-/tmp}" millrace-many.XXXXXX)
trap 'rm -rf "$place"' EXIT
cd "$place"

declare -A reader=([pod5]=pod5_reader [blow5]=slow5_reader [fast5]=fast5_reader)

for format in $formats; do
  mkdir "$format"
  generate=("$millrace" generate nanopore --reads $((files * reads_per_file)) --mean-read-bases 500 --genome-bases 50000)
  "${generate[@]}" "one.$format" >/dev/null
  "${generate[@]}" "$format/many.$format" --reads-per-file "$reads_per_file" >/dev/null
  for input in "one.$format" "$format"; do
    cat >"$input.toml" <<TOML
[pipeline]
name = "many_files"
[[stage]]
name = "read"
type = "${reader[$format]}"
path = "$input"
[[stage]]
name = "decode"
type = "decode_signal"
[[stage]]
name = "write"
type = "null_writer"
TOML
  done
done

# one COMMAND INPUT: appends "COMMAND INPUT seconds" to the figures.
one() {
  local TIMEFORMAT='%R' took
  took=$({ time "$millrace" "$1" "$2.toml" >/dev/null 2>&1; } 2>&1)
  echo "$1 $2 $took" >>figures
}

for format in $formats; do # warm
  one run "one.$format" && one run "$format"
done
rm figures
for ((repeat = 0; repeat < repeats; repeat++)); do
  for format in $formats; do
    for each in $(shuf -e "run one.$format" "run $format" "check one.$format" "check $format" | tr ' ' :); do
      one "${each%%:*}" "${each##*:}"
    done
  done
done

median() { awk -v command="$1" -v input="$2" '$1 == command && $2 == input {print $3}' figures | sort -n | awk '{a[NR] = $1} END {print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2}'; }

printf '%d files of %d reads beside one file of %d, warm, medians of %d\n' "$files" "$reads_per_file" \
  $((files * reads_per_file)) "$repeats"
printf '%-7s%10s%12s%12s%14s%14s%9s\n' format bytes 'one file' many 'index of one' 'index of many' ratio
for format in $formats; do
  one=$(median run "one.$format") many=$(median run "$format")
  ratio=$(awk -v one="$one" -v many="$many" 'BEGIN {printf "%.2f", one / many}')
  printf '%-7s%10s%10.3f s%10.3f s%12.3f s%12.3f s%9s\n' "$format" "$(stat -c %s "one.$format")" "$one" "$many" \
    "$(median check "one.$format")" "$(median check "$format")" "$ratio"
  echo "$ratio" >>ratios
done
worst=$(sort -n ratios | head -1)
awk -v worst="$worst" -v least="$least" 'BEGIN {exit worst < least}' ||
  { echo "many files are read at $worst of the rate of one, at least $least is wanted" >&2; exit 1; }
