#!/usr/bin/env bash
# One file through mmap, with and without prefetch advice, buffered and direct reads: on the local disk, and over slowfs
# with 1 ms for every request and a read-ahead of 24 KiB, as network storage may have it. Each run begins with a cold
# cache.
#
#   tests/bench/mmap_on_slow_storage.sh [REPEATS] [MIB]       default: 5, 64
source "$(dirname "${BASH_SOURCE[0]}")/experiment.sh"
repeats=${1:-5}
mib=${2:-64}
config=$root/configs/experiments/mmap_on_slow_storage.toml
slowfs=$root/build/tests/slowfs
slow=$place/slow
control=$place/control

cannot() {
  echo "cannot run: $*" >&2
  exit 77 # a skipped test for ctest
}
[ -x "$slowfs" ] || cannot "$slowfs was not built (libfuse3-dev is missing)"
mkdir "$place/local" "$slow"
"$slowfs" mount "$place/local" "$slow" --control "$control" latency_us=1000 max_readahead=24576 ||
  cannot "slowfs cannot mount"
trap 'fusermount3 -u "$slow" || fusermount3 -uz "$slow"; rm -rf "$place"' EXIT
"$millrace" generate raw "$place/local/input" --bytes "${mib}MiB"

declare -A settings=(
  [mmap]='--set read.via.transport=mmap'
  [mmap_advised]='--set read.via.transport=mmap --set read.via.advice=willneed'
  [buffered]='--set read.via.transport=buffered'
  [direct]='--set read.via.transport=direct'
)
order=(mmap mmap_advised buffered direct)

# one PLACE WAY: one more run; the requests that slowfs saw in it go to $place/slow.WAY.requests.
one() {
  local input=$place/$1/input
  evict "$place/local/input"
  "$slowfs" reset "$control"
  # shellcheck disable=SC2086 # several words each
  arm "$1.$2" "$config" --set "read.path=$input" ${settings[$2]}
  "$slowfs" show "$control" | sed -n 's/^reads: \([0-9]*\) requests.*/\1/p' >"$place/$1.$2.requests"
}

for ((repeat = 0; repeat < repeats; repeat++)); do
  for where in $(shuf -e local slow); do
    for way in $(shuf -e "${order[@]}"); do one "$where" "$way"; done
  done
done

echo "$mib MiB from a cold cache, $repeats interleaved repeats; slow = 1 ms a request, 24 KiB read ahead"
printf '%-6s %-12s %9s %9s %14s   %s\n' where reading wall MiB/s requests verdicts
for where in local slow; do
  for way in "${order[@]}"; do
    wall=$(median_of "$where.$way" wall_s)
    requests=$(cat "$place/$where.$way.requests")
    printf '%-6s %-12s %7.3f s %9.0f %14s   %s\n' "$where" "$way" "$wall" \
      "$(awk -v m="$mib" -v w="$wall" 'BEGIN {print m / w}')" \
      "$([ $where = slow ] && awk -v n="$requests" -v m="$mib" 'BEGIN {printf "%d x %.0f KiB", n, m * 1024 / n}' || echo -)" \
      "$(verdicts_of "$where.$way")"
  done
done
for where in local slow; do
  printf '%s storage: mmap takes %.2f times as long as buffered, with windowed advice %.2f times\n' $where \
    "$(ratio_of $where.mmap $where.buffered)" "$(ratio_of $where.mmap_advised $where.buffered)"
done
