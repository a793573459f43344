#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
. "$root/scripts/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/demo.sh [-n PES] [--no-install] [PAGERANK OPTION]...
Builds and installs Shoal (into install/, with the Debian packages that it needs and that are missing), then ranks the
packages of this machine's Debian package lists by PageRank. A second run builds nothing anew.

  -n PES         number of PEs (default: 4)
  --no-install   install no Debian packages: say which are missing and stop
  --help         this text

All else goes to the program. Some of it (all: scripts/demo.sh -- --help):
  FILE           rank the vertices of an edge list instead: one edge a line, "SOURCE DESTINATION"
  --recommends   Recommends count as dependencies, too
  --top N        length of the table
  --verbose      also each PE's part and times
END
}

pes=4
build_options=()
# What an earlier build has put there is kept up to date.
if [ ! -e "$root/install/lib/python" ]; then build_options+=(--python off); fi
while [ $# -gt 0 ]; do
  case $1 in
    -n)
      [ $# -ge 2 ] || fail "-n: a number of PEs is missing after it"
      pes=$2
      shift 2
      ;;
    -n?*) set -- -n "${1#-n}" "${@:2}" ;;
    --no-install) build_options+=("$1") && shift ;;
    --help | -h) usage && exit 0 ;;
    --) shift && break ;;
    *) break ;;
  esac
done
is_number "$pes" || fail "-n $pes: must be a whole number from 1 on"
# What the program would refuse only after everything is built. Its values it judges itself.
value=no
for argument in "$@"; do
  if [ $value = yes ]; then value=no && continue; fi
  case $argument in
    --damping | --tolerance | --iterations | --top | --graph | --packages) value=yes ;;
    --damping=* | --tolerance=* | --iterations=* | --top=* | --graph=* | --packages=*) ;;
    --recommends | --verbose | -v | --help | -h) ;;
    -*) fail "unknown option $argument; scripts/demo.sh --help tells some, scripts/demo.sh -- --help all" ;;
  esac
done
[ $value = no ] || fail "$argument: a value is missing after it"

bash "$root/scripts/build.sh" "${build_options[@]}"

say "PageRank on $pes PEs"
status=0
"$root/install/bin/shoalrun" -n "$pes" "$root/install/lib/shoal/examples/pagerank" "$@" || status=$?
if [ $status != 0 ]; then echo "demo.sh: PageRank ended with status $status" >&2; fi
exit $status
