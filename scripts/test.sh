#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
. "$root/scripts/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/test.sh [OPTION]...
Builds Shoal in several configurations and tests all of them in one run of ctest, whose summary ends the output.
Installs the Debian packages that it needs and that are missing. Exit status 0 only if everything built and passed.

Parts, and what of each is run without and with --full:
  release   g++, optimised                                  whole     whole, at more numbers of PEs
  asan      g++, address and undefined-behaviour sanitizer  subset    whole
  tsan      clang, thread sanitizer, warnings are errors    subset    whole but for some over nodes
  clang     clang, optimised, warnings are errors; fuzzers  -         whole
  dev       g++, warnings are errors; built whole           -         subset
  aarch64   cross build, run by an emulator                 -         smoke

  --full          the whole matrix, with the tests of killed PEs repeated until a hundred kills; takes an hour or two
  --only PARTS    only these parts, separated by commas
  --filter REGEX  only tests whose name matches
  --jobs N        compile jobs at a time, by default one a processor, as far as memory allows; of tests one more, since
                  many mostly wait
  --no-install    install no Debian packages: say which are missing and stop
  --help          this text
END
}

full=no only='' filter='' jobs='' packages=yes
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    --*=*) set -- "${option%%=*}" "${option#*=}" "${@:2}" && continue ;;
    --full) full=yes && shift && continue ;;
    --no-install) packages=no && shift && continue ;;
    --help | -h) usage && exit 0 ;;
    --only | --filter | --jobs) [ $# -ge 2 ] || fail "$option needs a value; see --help" ;;
    *) fail "unknown argument '$option'; see --help" ;;
  esac
  case $option in
    --only) only=$2 ;;
    --filter) filter=$2 ;;
    --jobs) jobs=$2 ;;
  esac
  shift 2
done
[ -n "$jobs" ] || jobs=$(default_jobs)
is_number "$jobs" || fail "--jobs $jobs: must be a whole number from 1 on"

parts=(tsan asan release)
[ $full = no ] || parts=(dev clang tsan asan aarch64 release)
if [ -n "$only" ]; then IFS=, read -ra parts <<<"$only"; fi

# The subsets: what another compiler and the sanitizers could see that the release does not, at fewer numbers of PEs.
tsan_conformance=(threads contexts locks signals wait)
subset_of() {
  [ -z "$filter" ] || { echo "$filter" && return; }
  case $1:$full in
    asan:no) echo '^unit\.|^multi\.(?!pagerank|example|perf)|^conformance\.\w+\.5$' ;;
    tsan:no) echo "^unit\\.\\w+(?<!fuzz)_test\$|^conformance\\.($(IFS='|' && echo "${tsan_conformance[*]}"))\\.2\$" ;;
    # What orders a message behind another PE's signal is the network and that PE: the sanitizer sees neither.
    tsan:yes) echo '^(?!.*\.nodes_uneven|device\..*\.nodes)' ;;
    dev:*) echo '^(unit|negative)\.' ;;
    aarch64:*) echo '^unit\.\w+_test$|^conformance\.\w+\.[24]$' ;;
    *) echo . ;;
  esac
}
targets_of() { # Ninja's FOLDER/all is all that a folder builds
  case $1:$full$filter in
    asan:no) echo tools/run/all tools/top/all tests/unit/all tests/multi/all tests/conformance/all ;;
    tsan:no) echo tools/run/all tests/unit/all "${tsan_conformance[@]/#/conformance_}" ;;
    *) echo all ;;
  esac
}

needs=(cmake ninja-build g++ python3 pkg-config libssl-dev libpmix-dev libucx-dev openmpi-bin iproute2 libgtest-dev libbenchmark-dev libeigen3-dev valgrind)
for part in "${parts[@]}"; do
  case $part in
    release) needs+=(python3-numpy python3-pytest pybind11-dev python3-dev python3-torch) ;;
    dev) needs+=(python3-numpy python3-pytest pybind11-dev python3-dev) ;;
    asan) ;;
    clang) needs+=(clang libclang-rt-dev) ;;
    tsan) needs+=(clang libclang-rt-dev) ;;
    aarch64) needs+=(g++-aarch64-linux-gnu qemu-user libssl-dev:arm64 libstdc++6:arm64) ;;
    *) fail "--only $part: no such part; see --help" ;;
  esac
done
need_packages $packages "${needs[@]}"

cd "$root"
if [ $full = yes ]; then export SHOAL_TEST_FULL=1; else unset SHOAL_TEST_FULL; fi # tests with a number of rounds do them all
combined=()
for part in "${parts[@]}"; do
  say "Building $part"
  began=$SECONDS
  case $part in release | dev) python=ON ;; *) python=AUTO ;; esac
  case $part in clang) fuzz=ON ;; *) fuzz=OFF ;; esac
  cmake --preset "$part" --log-level=WARNING -DSHOAL_TESTS=ON -DSHOAL_EXAMPLES=ON -DSHOAL_WITH_PYTHON=$python -DSHOAL_FUZZ=$fuzz
  read -ra targets <<<"$(targets_of "$part")"
  cmake --build --preset "$part" -j "$jobs" --target "${targets[@]}"
  echo "$part: built in $((SECONDS - began)) s"
  prefix=''
  # ThreadSanitizer of clang 14 cannot place its tables when the kernel scatters the address space widely.
  if [ "$part" = tsan ] && setarch -R true 2>/dev/null; then prefix='setarch -R'; fi
  combined+=("$part" "build/$part" "$(subset_of "$part")" "$prefix")
done

say "Testing"
folder=build/tests$([ $full = no ] || echo -full)
python3 scripts/combine_tests.py ${filter:+--filtered} "$folder" "${combined[@]}"
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="suppressions=$root/tests/tsan.supp"
exec ctest --test-dir "$folder" -j $((jobs + 1)) --output-on-failure --no-tests=error --timeout 600
