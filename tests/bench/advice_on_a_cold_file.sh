#!/usr/bin/env bash
# Prefetch advice on a cold file: none, read-ahead switched off, the naive call for the whole file, and the windowed one;
# with a consumer somewhat faster than reads without read-ahead, and with one that is three times slower. On the local
# disk, and over slowfs (1 ms a request, read-ahead of 128 KiB) where that was built and can be mounted.
#
#   tests/bench/advice_on_a_cold_file.sh [REPEATS] [MIB_LOCAL] [MIB_SLOW]       default: 5, 1024, 128
source "$(dirname "${BASH_SOURCE[0]}")/experiment.sh"
repeats=${1:-5}
declare -A mib=([local]=${2:-1024} [slow]=${3:-128})
config=$root/configs/experiments/advice.toml
slowfs=$root/build/tests/slowfs
declare -A input=([local]=$place/local/input.raw [slow]=$place/mount/slow.raw)
mkdir "$place/local" "$place/mount"
"$millrace" generate raw "${input[local]}" --bytes "${mib[local]}MiB"
"$millrace" generate raw "$place/local/slow.raw" --bytes "${mib[slow]}MiB"

places=(local)
if [ -x "$slowfs" ] && "$slowfs" mount "$place/local" "$place/mount" --control "$place/control" latency_us=1000; then
  trap 'fusermount3 -u "$place/mount" || fusermount3 -uz "$place/mount"; rm -rf "$place"' EXIT
  places+=(slow)
else
  echo "without slow storage: slowfs was not built or cannot be mounted here"
fi

declare -A settings=(
  [none]=''
  [random]='--set read.via.advice=random'
  [willneed_file]='--set read.via.advice=willneed --set read.via.scope=file'
  [willneed_window]='--set read.via.advice=willneed --set read.via.window=32MiB'
)
order=(none random willneed_file willneed_window)

# run PLACE ARM CONSUMER_US NAME: one more run from a cold cache.
run() {
  evict "$place/local/$(basename "${input[$1]}")"
  evict "${input[$1]}"
  # shellcheck disable=SC2086 # several words each
  arm "$4" "$config" --set "read.path=${input[$1]}" --set "work.busy=$3 us" ${settings[$2]}
}

declare -A pace slow
for where in "${places[@]}"; do
  # How long a block takes without read-ahead sets the consumers' speed.
  for i in 1 2 3; do run "$where" random 0 "$where.calibration"; done
  block_us=$(awk -v c="$(median_of "$where.calibration" wall_s)" -v m="${mib[$where]}" 'BEGIN {print c / (m / 4) * 1e6}')
  pace[$where]=$(awk -v b="$block_us" 'BEGIN {printf "%d", 0.8 * b}')
  slow[$where]=$(awk -v b="$block_us" 'BEGIN {printf "%d", 3 * b}')
  for ((repeat = 0; repeat < repeats; repeat++)); do
    for name in $(shuf -e "${order[@]}"); do
      run "$where" "$name" "${pace[$where]}" "$where.$name.fast"
      run "$where" "$name" "${slow[$where]}" "$where.$name.slow"
    done
  done
done

for where in "${places[@]}"; do
  echo
  echo "$where: ${mib[$where]} MiB in blocks of 4 MiB, $repeats interleaved repeats from a cold cache; consumers of" \
    "${pace[$where]} us and ${slow[$where]} us a block"
  printf '%-16s %-9s %8s %11s %9s   %s\n' advice consumer wall 'read waits' 'in time' verdicts
  for consumer in fast slow; do
    for name in "${order[@]}"; do
      arm=$where.$name.$consumer
      resident=$(median_of "$arm" resident)
      printf '%-16s %-9s %6.2f s %9.2f s %9s   %s\n' "$name" "$consumer" "$(median_of "$arm" wall_s)" \
        "$(median_of "$arm" read_wait_s)" \
        "$([[ $name != willneed* ]] && echo - || awk -v r="$resident" 'BEGIN {printf "%.1f %%", 100 * r}')" \
        "$(verdicts_of "$arm")"
    done
  done
  for consumer in fast slow; do
    printf 'windowed willneed against no read-ahead, %s consumer: %.2f times as fast\n' $consumer \
      "$(ratio_of "$where.random.$consumer" "$where.willneed_window.$consumer")"
  done
done
echo
echo "What the very first run with the slow consumer said:"
"$millrace" report "$place/local.random.slow.1.json" | sed -n '/Cannot help/,/^[^ ]/p' | grep '^ '
