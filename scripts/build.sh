#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
. "$root/scripts/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/build.sh [OPTION]...
Builds Shoal and installs it. Installs the Debian packages that it needs and that are missing. A second run rebuilds only what changed.

  --build-type TYPE   release (default), debug or relwithdebinfo
  --sanitize WHAT     address (with undefined behaviour), thread or none (default)
  --compiler NAME     gcc or clang (default: gcc; clang for --sanitize thread)
  --prefix FOLDER     where to install (default: install/ in the repository)
  --jobs N            compile jobs at a time (default: one a processor, as far as memory allows)
  --python on|off     build the Python package, too (default: on; off with sanitizers)
  --tests on|off      build the tests and the benchmarks as well (default: off)
  --clean             start afresh: remove this configuration's build folder first
  --no-install        install no Debian packages: say which are missing and stop
  --help              this text

Afterwards:  source install/set_env.sh   puts shoalcc, shoalc++, shoalrun, shoal-top, shoal-info and shoal-perf on PATH,
and the Python package on PYTHONPATH.
END
}

type='' sanitize=none compiler='' prefix=$root/install jobs='' tests='' python='' clean=no packages=yes
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    --*=*) set -- "${option%%=*}" "${option#*=}" "${@:2}" && continue ;;
    --clean) clean=yes && shift && continue ;;
    --no-install) packages=no && shift && continue ;;
    --help | -h) usage && exit 0 ;;
    --build-type | --sanitize | --compiler | --prefix | --jobs | --tests | --python) [ $# -ge 2 ] || fail "$option needs a value; see --help" ;;
    *) fail "unknown argument '$option'; see --help" ;;
  esac
  case $option in
    --build-type) type=${2,,} ;;
    --sanitize) sanitize=$2 ;;
    --compiler) compiler=$2 ;;
    --prefix) prefix=$(realpath -m -- "$2") ;;
    --jobs) jobs=$2 ;;
    --tests) tests=${2,,} ;;
    --python) python=${2,,} ;;
  esac
  shift 2
done

case $sanitize in
  none) flags='' ;;
  address) flags=address,undefined ;;
  thread) flags=thread ;;
  *) fail "--sanitize $sanitize: must be address, thread or none" ;;
esac
[ -n "$compiler" ] || { [ "$sanitize" = thread ] && compiler=clang || compiler=gcc; }
[ -n "$type" ] || { [ "$sanitize" = none ] && type=release || type=relwithdebinfo; }
case $compiler in
  gcc) cc=gcc cxx=g++ needs=(g++) ;;
  clang) cc=clang cxx=clang++ needs=(clang) && [ "$sanitize" = none ] || needs+=(libclang-rt-dev) ;;
  *) fail "--compiler $compiler: must be gcc or clang" ;;
esac
case $type in
  release) cmake_type=Release ;;
  debug) cmake_type=Debug ;;
  relwithdebinfo) cmake_type=RelWithDebInfo ;;
  *) fail "--build-type $type: must be release, debug or relwithdebinfo" ;;
esac
case $tests in '' | on | off) ;; *) fail "--tests $tests: must be on or off" ;; esac
case $python in '' | on | off) ;; *) fail "--python $python: must be on or off" ;; esac
[ -n "$jobs" ] || jobs=$(default_jobs)
is_number "$jobs" || fail "--jobs $jobs: must be a whole number from 1 on"

needs+=(cmake ninja-build libssl-dev)
if [ "$sanitize" != none ]; then python=off; fi
# On a machine where nothing is to be installed, Python is there if what it needs is.
if [ -z "$python" ] && [ $packages = yes ]; then python=on; fi
[ "$python" != on ] || needs+=(pybind11-dev python3-dev python3-numpy)
[ "$tests" != on ] || needs+=(libgtest-dev libbenchmark-dev python3 pkg-config)
need_packages $packages "${needs[@]}"

# The presets' own folders where a preset is the same thing, so that scripts/test.sh does not compile it all again.
case $compiler-$type-$sanitize in
  gcc-release-none) folder=release ;;
  clang-release-none) folder=clang ;;
  *) folder=$compiler-$type-$sanitize ;;
esac
build=$root/build/$folder
mkdir -p "$root/build"
exec {lock}>"$root/build/.$folder.lock"
flock -n $lock || { echo "another build of build/$folder is running: waiting for it" && flock $lock; }
if [ $clean = yes ]; then rm -rf -- "$build"; fi

settings=()
if [ -n "$tests" ]; then
  settings=(-DSHOAL_TESTS="${tests^^}" -DSHOAL_BENCH="${tests^^}")
elif [ ! -e "$build/CMakeCache.txt" ]; then
  settings=(-DSHOAL_TESTS=OFF -DSHOAL_BENCH=OFF)
fi
if [ -n "$python" ]; then settings+=(-DSHOAL_WITH_PYTHON="${python^^}"); fi
say "Building ($compiler, $cmake_type, sanitizers: $sanitize) in build/$folder"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=$cmake_type -DCMAKE_C_COMPILER=$cc -DCMAKE_CXX_COMPILER=$cxx \
  -DSHOAL_SANITIZE=$flags "${settings[@]}" --log-level=WARNING
target=shoal_product
if [ "$tests" = on ]; then target=all; fi
cmake --build "$build" -j "$jobs" --target $target

say "Installing into $prefix"
cmake --install "$build" --prefix "$prefix" >/dev/null
echo "Done. Next:  source '$prefix/set_env.sh'"
