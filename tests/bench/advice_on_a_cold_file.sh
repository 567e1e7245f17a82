#!/usr/bin/env bash
# Prefetch advice on a cold file: the naive call for the whole file, the windowed one, none, and read-ahead switched off,
# with a consumer that is as fast as reading from memory and reading from the device on average, and with a slow one.
#
#   tests/bench/advice_on_a_cold_file.sh [REPEATS] [MIB]       default: 5, 1024
source "$(dirname "${BASH_SOURCE[0]}")/experiment.sh"
repeats=${1:-5}
mib=${2:-1024}
config=$root/configs/experiments/advice.toml
input=$place/input.raw
"$millrace" generate raw "$input" --bytes "${mib}MiB"
blocks=$((mib / 4))

# The time of a block from memory and from the device without read-ahead sets the consumer's pace between them.
arm warm "$config" --set "read.path=$input" --set 'work.busy=0 ms'
arm warm "$config" --set "read.path=$input" --set 'work.busy=0 ms'
evict "$input"
arm cold "$config" --set "read.path=$input" --set 'work.busy=0 ms' --set read.via.advice=random
pace_us=$(awk -v w="$(field "$place/warm.2.json" wall_s)" -v c="$(field "$place/cold.1.json" wall_s)" -v n="$blocks" \
  'BEGIN {printf "%d", (w + c) / 2 / n * 1e6}')
slow_us=$(awk -v c="$(field "$place/cold.1.json" wall_s)" -v n="$blocks" 'BEGIN {printf "%d", 3 * c / n * 1e6}')

declare -A settings=(
  [none]=''
  [random]='--set read.via.advice=random'
  [willneed_file]='--set read.via.advice=willneed --set read.via.scope=file'
  [willneed_window]='--set read.via.advice=willneed --set read.via.window=32MiB'
)
order=(none random willneed_file willneed_window)
for ((repeat = 0; repeat < repeats; repeat++)); do
  for name in $(shuf -e "${order[@]}"); do
    for consumer in pace slow; do
      [ $consumer = pace ] && busy_us=$pace_us || busy_us=$slow_us
      evict "$input"
      # shellcheck disable=SC2086 # several words each
      arm "$name.$consumer" "$config" --set "read.path=$input" --set "work.busy=$busy_us us" ${settings[$name]}
    done
  done
done

echo "$mib MiB in blocks of 4 MiB, $repeats interleaved repeats from a cold cache; the consumer takes $pace_us us a block, the slow one $slow_us us"
printf '%-17s %-9s %8s %11s %12s   %s\n' advice consumer wall 'read waits' 'in time' 'verdicts'
for consumer in pace slow; do
  for name in "${order[@]}"; do
    resident=$(median_of "$name.$consumer" resident)
    printf '%-17s %-9s %6.2f s %9.2f s %12s   %s\n' "$name" "$consumer" "$(median_of "$name.$consumer" wall_s)" \
      "$(median_of "$name.$consumer" read_wait_s)" "$([ -z "$resident" ] && echo - || awk -v r="$resident" 'BEGIN {printf "%.1f %%", 100 * r}')" \
      "$(verdicts_of "$name.$consumer")"
  done
done
for consumer in pace slow; do
  printf 'windowed willneed against no read-ahead, %s consumer: %.2f times as fast\n' $consumer \
    "$(ratio_of random.$consumer willneed_window.$consumer)"
done
"$millrace" report "$place/random.slow.1.json" | sed -n '/annot help/,/^[^ ]/p' | sed '/^[^ ]/d'
