#!/usr/bin/env bash
# Installs millrace into a fresh place, copies the example plugin out of the tree, and runs the commands of its README
# there, as they stand. Then it looks at what they did.
# usage: example_plugin.sh BUILD_DIRECTORY SOURCE_DIRECTORY
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'example_plugin.sh: %s\n' "$*" >&2
  exit 1
}

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" || fail "$(cat "$work/install.log")"
cp -r "$source/apps/example_plugin" "$work/plugin"
cd "$work/plugin"

{
  echo 'set -eux'
  # shellcheck disable=SC2016 # backquotes of Markdown
  sed -n '/^```sh$/,/^```$/p' README.md | grep -v '^```' | sed "s|/opt/millrace|$work/prefix|g"
} >"$work/commands.sh"
grep -q 'millrace run' "$work/commands.sh" || fail "the README shows no run"
bash "$work/commands.sh" >"$work/output.txt" 2>&1 || fail "a command of the README failed: $(cat "$work/output.txt")"

# The stage is listed with its option, like a built-in one.
listing=$("$work/prefix/bin/millrace" stages subtract_baseline --plugin build/subtract_baseline.so)
for word in subtract_baseline transform offset integer 'subtracted from every sample' build/subtract_baseline.so; do
  grep -qF -- "$word" <<<"$listing" || fail "millrace stages does not say '$word': $listing"
done

# The report has a line for it, which its author did nothing for.
report=$("$work/prefix/bin/millrace" run subtract_baseline.toml --plugin build/subtract_baseline.so --report report.json)
grep -qE '^ *shift +2 +16 ' <<<"$report" || fail "the report has no line for the stage: $report"
grep -q '"subtract_baseline"' report.json || fail "report.json does not name the stage type"

# And the samples are what the stage makes of a ramp: -100, -99, ...
first=$(od -An -v -t d2 -N 6 shifted.raw | xargs)
[ "$first" = "-100 -99 -98" ] || fail "the output begins with $first"
size=$(stat -c %s shifted.raw)
[ "$size" -eq $((16 * 65536)) ] || fail "the output has $size bytes"

# Without the plugin the stage is unknown, and the refusal says where in the config.
if message=$("$work/prefix/bin/millrace" check subtract_baseline.toml 2>&1); then
  fail "the config was accepted without the plugin"
fi
grep -qE "subtract_baseline.toml:[0-9]+:[0-9]+: .*subtract_baseline" <<<"$message" || fail "unclear refusal: $message"
