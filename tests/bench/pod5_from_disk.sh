#!/usr/bin/env bash
# A generated set of POD5 files from a cold cache: events of all reads, with the device throttled to half of what the
# cores can take and without; the verdicts of both; then read settings against each other, for a consumer that decodes
# and nothing else.
#
#   tests/bench/pod5_from_disk.sh [REPEATS] [MIB] [FILES]       default: 3, 4096, 8
source "$(dirname "${BASH_SOURCE[0]}")/experiment.sh"
repeats=${1:-3} mib=${2:-4096} files=${3:-8}
events=$root/configs/experiments/pod5_events.toml
prefetch=$root/configs/experiments/prefetch_pod5.toml
mkdir "$place/set"
for ((file = 1; file <= files; file++)); do
  "$millrace" generate nanopore "$place/set/$file.pod5" --seed "$file" --bytes "$((mib / files))MiB" >/dev/null
done

cold() {
  local file
  for file in "$place"/set/*.pod5; do evict "$file"; done
}

# The first run sets the throttle, and what of the files is used.
cold
arm calibration "$events" --set "read.path=$place/set/*.pod5"
megabytes=$(cat "$place"/set/*.pod5 | wc -c | awk '{print $1 / 1e6}')
rate=$(awk -v mb="$megabytes" -v s="$(median_of calibration wall_s)" 'BEGIN {printf "%.1f", mb / s / 2}')
for ((repeat = 0; repeat < repeats; repeat++)); do
  for name in $(shuf -e free throttled); do
    cold
    if [ "$name" = free ]; then
      arm free "$events" --set "read.path=$place/set/*.pod5"
    else
      arm throttled "$events" --set "read.path=$place/set/*.pod5" --set "read.via.throttle_rate=$rate MB"
    fi
  done
done

echo "$files POD5 files, $(awk -v mb="$megabytes" 'BEGIN {printf "%.0f", mb}') MB, cold, $repeats interleaved repeats"
printf '%-28s %10s %8s %12s   %s\n' device wall MB/s 'read waits' verdicts
for name in free throttled; do
  printf '%-28s %8.2f s %8.0f %10.2f s   %s\n' \
    "$([ $name = free ] && echo 'as it is' || echo "throttled to $rate MB/s")" "$(median_of $name wall_s)" \
    "$(awk -v mb="$megabytes" -v s="$(median_of $name wall_s)" 'BEGIN {print mb / s}')" \
    "$(median_of $name read_wait_s)" "$(verdicts_of $name)"
done
echo
"$millrace" report "$place/throttled.1.json" | sed -n '/^verdict/,/^links:/p' | grep -v '^links:'
"$millrace" report "$place/free.1.json" | sed -n '/^verdict/,/^links:/p' | grep -v '^links:'
echo
"$millrace" compare "$prefetch" --set "read.path=$place/set/*.pod5" --repeats $((repeats + 1)) --progress off
