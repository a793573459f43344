#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The figures of one machine, in one run: basic costs beside their limits, barriers of many PEs on few cores, what an idle
# wait costs, how fast jobs start.   usage: one_machine.sh BUILD_DIR
set -eu
build=${1:?usage: one_machine.sh BUILD_DIR}
run=$build/bin/shoalrun
here=$build/bench
echo "machine: $(uname -srm), $(nproc) cores: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "commit:  $(git -C "$(dirname "$0")" describe --always --dirty 2>/dev/null || echo unknown)"
"$run" -n 2 --bind core "$here/basics"
"$run" -n 16 "$here/meeting" 1000
"$run" -n 4 "$here/meeting" idle 3
for n in 2 64; do
  start=$(date +%s%N)
  "$run" -n $n "$here/meeting" 1 >/dev/null
  end=$(date +%s%N)
  echo "$n PEs start, meet and end: $(((end - start) / 1000000)) ms"
done
