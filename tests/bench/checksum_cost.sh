#!/usr/bin/env bash
# What verification costs a run that is bound by copying memory: a warm file read with and without verify_crc32c, through
# a copy (buffered) and without one (mmap). Interleaved; the cost of each stage beside the effect on the whole.
#
#   tests/bench/checksum_cost.sh [REPEATS] [MIB]       default: 7, 2048
source "$(dirname "${BASH_SOURCE[0]}")/experiment.sh"
repeats=${1:-7}
mib=${2:-2048}
experiments=$root/configs/experiments
input=$place/input.raw
"$millrace" generate raw "$input" --bytes "${mib}MiB"
"$millrace" run "$experiments/make_checksums.toml" --progress off --set "read.path=$input" \
  --set "checksums.path=$input.crc32c" >/dev/null

order=(copy_checked copy_unchecked nocopy_checked nocopy_unchecked)
one() {
  local transport=buffered config=$experiments/no_checksum.toml
  [[ $1 == nocopy_* ]] && transport=mmap
  [[ $1 == *_checked ]] && config=$experiments/checksum.toml
  arm "$1" "$config" --set "read.path=$input" --set "read.via.transport=$transport"
}
for name in "${order[@]}"; do one "$name"; done # the first of each warms the cache and is left out
runs=()
for ((repeat = 0; repeat < repeats; repeat++)); do
  for name in $(shuf -e "${order[@]}"); do one "$name"; done
done

echo "$mib MiB from a warm cache, $repeats interleaved repeats"
printf '%-18s %8s %9s %11s %12s\n' '' wall GiB/s 'read busy' 'verify busy'
for name in "${order[@]}"; do
  wall=$(median_of "$name" wall_s)
  verify=$([[ $name == *_checked ]] && median_of "$name" verify.busy || echo 0)
  printf '%-18s %6.3f s %9.2f %9.3f s %10.3f s\n' "$name" "$wall" "$(awk -v m="$mib" -v w="$wall" 'BEGIN {print m / 1024 / w}')" \
    "$(median_of "$name" read.busy)" "$verify"
done
for kind in copy nocopy; do
  printf 'verification makes the run with %s %.3f times as long\n' "$kind" "$(ratio_of ${kind}_checked ${kind}_unchecked)"
done
