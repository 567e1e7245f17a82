#!/usr/bin/env bash
# Copies a file of 2 GiB with millrace and with what people use otherwise, in turn, in another order in each repeat,
# from a cold cache and including the fsync; then reads it with millrace and with fio. Prints medians of MiB/s and of CPU
# seconds per GiB, and the paired ratios to the fastest of the others. Tools that are not installed are left out.
#
#   tests/bench/copy_against_tools.sh [REPEATS] [MIB]       default: 5, 2048; files go to $TMPDIR
set -euo pipefail
export LC_ALL=C
millrace=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/millrace
place=$(mktemp -d -p "${TMPDIR:-/tmp}" millrace-copy.XXXXXX)
repeats=${1:-5}
mib=${2:-2048}
trap 'rm -rf "$place"' EXIT
cd "$place"

"$millrace" generate raw input --bytes "${mib}MiB"

# config NAME READER WRITER: a copy through two transports; an empty writer reads only.
config() {
  local sink="type = \"null_writer\""
  [ -z "$3" ] || sink="type = \"raw_writer\"
path = \"output\"
via = { $3 }"
  cat >"$1.toml" <<TOML
[pipeline]
name = "$1"
[[stage]]
name = "read"
type = "raw_reader"
path = "input"
via = { $2 }
[[stage]]
name = "write"
link = { chunks = 4, bytes = "64 MiB" }
$sink
TOML
}
block='block = "4 MiB"'
config millrace_uring_direct "transport = \"uring_direct\", $block, depth = 4" 'transport = "uring_direct", depth = 4'
config millrace_direct "transport = \"direct\", $block" 'transport = "direct"'
config millrace_buffered "transport = \"buffered\", $block" 'transport = "buffered"'
config read_uring_direct "transport = \"uring_direct\", $block, depth = 4" ''
run_millrace() { "$millrace" run "$1.toml" --progress off --report "$1.json" >/dev/null; }

copy_millrace_uring_direct() { run_millrace millrace_uring_direct; }
copy_millrace_direct() { run_millrace millrace_direct; }
copy_millrace_buffered() { run_millrace millrace_buffered; }
copy_cp() { cp --reflink=never input output && sync output; }
copy_dd_16M() { dd if=input of=output bs=16M conv=fsync status=none; }
copy_dd_16M_direct() { dd if=input of=output bs=16M iflag=direct oflag=direct conv=fsync status=none; }
copy_mbuffer() { mbuffer -q -i input -o output -s 4M -m 64M 2>/dev/null && sync output; }
read_millrace_uring_direct() { run_millrace read_uring_direct; }
read_fio_uring_direct() {
  fio --name=r --filename=input --readonly --rw=read --bs=4M --iodepth=4 --ioengine=io_uring --direct=1 --minimal >/dev/null
}

evict() { dd of=input oflag=nocache conv=notrunc,fdatasync count=0 status=none; }

# one WHAT: appends "WHAT seconds cpu_seconds" to the figures.
one() {
  local TIMEFORMAT='%R %U %S' took
  rm -f output
  evict
  took=$({ time "$1" >&2; } 2>&1)
  awk -v what="$1" '{print what, $1, $2 + $3}' <<<"${took##*$'\n'}" >>figures
}

what=(copy_millrace_uring_direct copy_millrace_direct copy_millrace_buffered copy_cp copy_dd_16M copy_dd_16M_direct)
command -v mbuffer >/dev/null && what+=(copy_mbuffer)
what+=(read_millrace_uring_direct)
command -v fio >/dev/null && what+=(read_fio_uring_direct)

for ((repeat = 0; repeat < repeats; repeat++)); do
  for each in $(shuf -e "${what[@]}"); do one "$each"; done
done
cmp input output 2>/dev/null || [ ! -e output ] || { echo "the last copy differs" >&2; exit 1; }

awk -v mib="$mib" '
  function median(list, n,   i, j, t, a) {
    for (i = 1; i <= n; i++) a[i] = list[i]
    for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  { runs[$1]++; wall[$1, runs[$1]] = $2; cpu[$1, runs[$1]] = $3; if (!($1 in order)) { order[$1] = ++kinds; name[kinds] = $1 } }
  END {
    printf "%-28s %8s %10s   %s\n", "", "MiB/s", "CPU s/GiB", "each repeat, MiB/s"
    for (k = 1; k <= kinds; k++) {
      n = runs[name[k]]; text = ""
      for (i = 1; i <= n; i++) { w[i] = wall[name[k], i]; c[i] = cpu[name[k], i]; text = text sprintf(" %.0f", mib / w[i]) }
      middle[name[k]] = median(w, n)
      printf "%-28s %8.0f %10.3f  %s\n", name[k], mib / middle[name[k]], median(c, n) / mib * 1024, text
    }
    split("copy read", ops, " ")
    for (o = 1; o <= 2; o++) {
      ours = ""; other = ""
      for (k = 1; k <= kinds; k++) {
        if (name[k] !~ "^" ops[o] "_") continue
        if (name[k] ~ /millrace/) { if (ours == "" || middle[name[k]] < middle[ours]) ours = name[k] }
        else if (other == "" || middle[name[k]] < middle[other]) other = name[k]
      }
      if (ours == "" || other == "") continue
      n = runs[ours]; for (i = 1; i <= n; i++) r[i] = wall[other, i] / wall[ours, i]
      printf "%s is %.2f times as fast as %s (median of the paired ratios)\n", ours, median(r, n), other
    }
  }' figures
