#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mistaken.sh PATTERN COMMAND...: COMMAND must fail, and say what matches.
pattern=$1
shift
said=$("$@" 2>&1)
status=$?
printf '%s\n' "$said"
[ $status -ne 0 ] || { echo "it succeeded"; exit 1; }
printf '%s\n' "$said" | grep -q -- "$pattern" || { echo "nothing says: $pattern"; exit 1; }
