#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs all examples, one after the other, and says which of them were right.
set -u

usage() {
  cat <<'TEXT'
usage: tour.sh [-n PES] [--bin FOLDER]

Runs every small example and then PageRank, each with 4 PEs or as many as -n says.
  --bin FOLDER   where the built examples are (default: found beside this script, in install/ or in build/)
The launcher is found beside them or on PATH; SHOALRUN names another one.
TEXT
}

fail() {
  echo "tour.sh: $1" >&2
  exit 2
}

pes=4
bin=
while [ $# -gt 0 ]; do
  case $1 in
    -n) [ $# -ge 2 ] || fail "-n: a number is missing after it"; pes=$2; shift 2 ;;
    --bin) [ $# -ge 2 ] || fail "--bin: a folder is missing after it"; bin=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) fail "unknown argument '$1'; see tour.sh --help" ;;
  esac
done
[[ $pes =~ ^[1-9][0-9]*$ ]] || fail "-n: expected a number of PEs from 1, found '$pes'"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
if [ -z "$bin" ]; then
  for candidate in "$here" "$root"/install/lib/shoal/examples "$root"/build/*/examples; do
    if [ -x "$candidate/hello" ]; then bin=$candidate; break; fi
  done
  [ -n "$bin" ] || fail "the examples aren't built yet: run scripts/build.sh first, or name their folder with --bin"
fi
[ -x "$bin/hello" ] || fail "there is no built example in $bin"

launcher=${SHOALRUN:-}
if [ -z "$launcher" ]; then
  # An installed example is in lib/shoal/examples, a built one in examples, beside bin.
  for candidate in "$bin/../../../bin/shoalrun" "$bin/../bin/shoalrun"; do
    if [ -x "$candidate" ]; then launcher=$candidate; break; fi
  done
  [ -n "$launcher" ] || launcher=$(command -v shoalrun) || fail "no shoalrun found: source install/set_env.sh first"
fi

wrong=()
for name in hello ring histogram halo allreduce teams locks pipeline native pagerank; do
  [ -x "$bin/$name" ] || continue
  printf '\n== %s, %s PEs\n' "$name" "$pes"
  "$launcher" -n "$pes" "$bin/$name" || wrong+=("$name (status $?)")
done

echo
if [ ${#wrong[@]} -ne 0 ]; then
  echo "tour.sh: not right: ${wrong[*]}" >&2
  exit 1
fi
echo "all examples were right"
