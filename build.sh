#!/usr/bin/env bash
# Builds, tests and shows millrace on Debian 12. The two commands to know: ./build.sh demo and ./build.sh test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C
jobs=$(nproc)

usage() {
  cat <<'TEXT'
usage: ./build.sh COMMAND

  demo             build, make a signal file, run configs/quickstart.toml and print its report
  test             build and run every test
  build            build only: the program is build/millrace
  bench            build and run the benchmarks of tests/bench
  asan             every test under the address and undefined-behaviour sanitizers (clang)
  tsan             every test under the thread sanitizer (clang), with a libtbb rebuilt for it
  install PREFIX   build and install the program, the headers and the CMake package under PREFIX
  clean            remove everything that the above made in this directory

Missing Debian packages are installed first, which needs root or sudo.
TEXT
}

say() { printf '== %s\n' "$*"; }
fail() {
  printf 'build.sh: error: %s\n' "$*" >&2
  exit 1
}

# ------------------------------------------------------------------------------------------------- Debian's packages

build_packages=(
  cmake ninja-build g++ ccache pkg-config
  libtbb-dev libboost-dev libfmt-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev
  libhdf5-dev libzstd-dev liblz4-dev libdeflate-dev libstreamvbyte-dev libssl-dev libisal-dev liburing-dev
  libflatbuffers-dev flatbuffers-compiler libhts-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
# The tests' slow file system, file systems to test on, a reader of what the program writes, the example of a command.
# Tests skip what is missing.
test_packages=(libfuse3-dev fuse3 xfsprogs btrfs-progs samtools python3-minimal)
sanitizer_packages=(clang-14 libclang-rt-14-dev llvm-14)

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# need PACKAGE...: installs those that are missing; without any missing it does not touch apt.
need() {
  local missing=() package
  command -v dpkg-query >/dev/null || fail "this is no Debian; install what these packages have by hand: $*"
  for package in "$@"; do
    installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    fail "missing Debian packages: ${missing[*]} (no root and no sudo; as root: apt-get install ${missing[*]})"
  fi
  say "installing Debian packages: ${missing[*]}"
  as_root apt-get -qq update || fail "apt-get update failed; still missing: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install: ${missing[*]}"
  for package in "${missing[@]}"; do
    installed "$package" || fail "Debian package $package is still missing"
  done
}

# ------------------------------------------------------------------------------------------------- building, testing

# build PRESET [TARGET]...: configures and builds; a build without a change takes a second or two.
build() {
  local preset=$1 log
  shift
  say "building ($preset)"
  log=$(mktemp)
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "cmake could not configure the preset $preset"
  fi
  rm -f "$log"
  cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

# run_tests DIRECTORY: all of them, as many at a time as there are cores; the output of those that fail.
run_tests() {
  say "testing ($1)"
  ctest --test-dir "$1" --parallel "$jobs" --output-on-failure --no-tests=error --progress
}

# --------------------------------------------------------------------------------------------------------- the demo

# Real data: Debian's package uncalled has one R9.4 read and the pore model of that chemistry. Slim machines leave out
# the doc folder that the read lies in, so it is taken from the package file and nothing is installed.
fetch_demo_data() {
  local read=build/demo/real_read.fast5 model=build/demo/r94_5mers.txt work
  [ -s "$read" ] && [ -s "$model" ] && return
  say "fetching the real read and the pore model from Debian's package uncalled"
  work=build/demo/uncalled
  rm -rf "$work"
  mkdir -p "$work"
  local get=(apt-get -qq -o APT::Sandbox::User=root download uncalled)
  if ! (cd "$work" && "${get[@]}" 2>/dev/null); then
    as_root apt-get -qq update || fail "apt-get update failed; the demo needs the Debian package uncalled"
    (cd "$work" && "${get[@]}") || fail "cannot download the Debian package uncalled"
  fi
  dpkg-deb -x "$work"/uncalled_*.deb "$work"
  local reads=("$work"/usr/share/doc/uncalled/examples/*.fast5)
  [ -s "${reads[0]}" ] || fail "the Debian package uncalled has no FAST5 example any more"
  cp "${reads[0]}" "$read"
  cp "$work"/usr/lib/python3/dist-packages/uncalled/conf/r94_5mers.txt "$model"
  rm -rf "$work"
}

demo() {
  build release millrace
  mkdir -p build/demo
  fetch_demo_data
  if [ ! -s build/demo/generated.fast5 ]; then
    say "generating about 200 MB of nanopore signal (once)"
    build/millrace generate nanopore build/demo/generated.fast5 --pore-model build/demo/r94_5mers.txt
  fi
  say "build/millrace run configs/quickstart.toml --report build/demo/report.json"
  build/millrace run configs/quickstart.toml --report build/demo/report.json
  say "the same report again at any time: build/millrace report build/demo/report.json"
}

# ------------------------------------------------------------------------------------------------------- sanitizers

# Debian's libtbb is not instrumented, so the thread sanitizer cannot see its synchronisation: about a hundred false
# alarms a run, and suppressions that hide them hide real races in our code too. Rebuilt with TBB_SANITIZE there are
# none (oneTBB issues 358 and 1290). The program needs no relinking, only LD_LIBRARY_PATH.
build_tsan_tbb() {
  local top=$PWD/build/tsan-tbb version
  version=$(dpkg-query -W -f '${Version}' libtbb-dev)
  [ -e "$top/lib/libtbb.so.12" ] && [ "$(cat "$top/version" 2>/dev/null)" = "$version" ] && return
  say "rebuilding libtbb $version for the thread sanitizer (once)"
  rm -rf "$top"
  mkdir -p "$top"/{apt/lists/partial,source,lib}

  # The same mirrors as the machine's own, as sources of source packages, apart from the machine's lists.
  # shellcheck disable=SC2016 # apt expands these
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    awk '$4 == "Debian" {print "deb-src", $1, $2, $3}' | sort -u >"$top/apt/sources.list"
  [ -s "$top/apt/sources.list" ] || fail "this machine's apt knows no Debian mirror to get the source of libtbb from"
  local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$top/apt/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$top/apt/lists" -o APT::Sandbox::User=root)
  "${apt[@]}" update || fail "cannot read the source lists of $(head -1 "$top/apt/sources.list")"
  (cd "$top/source" && "${apt[@]}" source --download-only onetbb) || fail "cannot download the source package onetbb"
  tar -xf "$top"/source/onetbb_*.orig.tar.* -C "$top/source" --strip-components=1

  cmake -G Ninja -S "$top/source" -B "$top/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++-14 \
    -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBB_SANITIZE=thread >"$top/configure.log" ||
    fail "libtbb cannot be configured, see $top/configure.log"
  cmake --build "$top/build" --parallel "$jobs" --target tbb
  find "$top/build" -name 'libtbb.so*' -exec cp -a -t "$top/lib" {} +
  [ -e "$top/lib/libtbb.so.12" ] || fail "the rebuilt libtbb has no libtbb.so.12"
  rm -rf "$top/build" "$top/source" "$top/apt"
  echo "$version" >"$top/version"
}

asan() {
  need "${build_packages[@]}" "${test_packages[@]}" "${sanitizer_packages[@]}"
  build asan
  export ASAN_OPTIONS=${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1:allocator_may_return_null=1}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
  ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-14) run_tests build-asan
}

tsan() {
  need "${build_packages[@]}" "${test_packages[@]}" "${sanitizer_packages[@]}" xz-utils
  build_tsan_tbb
  build tsan
  export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1:external_symbolizer_path=$(command -v llvm-symbolizer-14)}
  LD_LIBRARY_PATH=$PWD/build/tsan-tbb/lib run_tests build-tsan
}

bench() {
  need "${build_packages[@]}"
  build release
  local program
  for program in build/tests/bench/bench_*; do
    [ -x "$program" ] || continue
    say "$program"
    "$program"
  done
}

# ------------------------------------------------------------------------------------------------------------- main

command=${1:-}
if [ "$command" = install ]; then
  [ $# -eq 2 ] || { usage >&2; exit 2; }
elif [ $# -ne 1 ]; then
  usage >&2
  exit 2
fi

case "$command" in
  demo) need "${build_packages[@]}"; demo ;;
  test) need "${build_packages[@]}" "${test_packages[@]}"; build release; run_tests build ;;
  build) need "${build_packages[@]}"; build release; say "built build/millrace" ;;
  bench) bench ;;
  asan) asan ;;
  tsan) tsan ;;
  install) need "${build_packages[@]}"; build release; cmake --install build --prefix "$2" ;;
  clean) rm -rf build build-debug build-asan build-tsan build-tidy; say "removed build*/" ;;
  -h | --help | help) usage ;;
  *) usage >&2; exit 2 ;;
esac
