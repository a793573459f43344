#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# native_failure.sh KIND SHOALRUN PROGRAM...: runs the program on 3 PEs and checks the exit status and what was printed.
kind=$1 launcher=$2
shift 2
case $kind in
  run) wanted=1 line='PE 1: uncaught exception: cards on fire' ;;
  job) wanted=1 line='PE 2: an exception leaves the scope of a shoal::Job' ;;
  unwinding) wanted=0 line='' ;;
esac
printed=$(timeout 30 "$launcher" -n 3 "$@" "$kind" 2>&1)
status=$?
echo "$printed"
if [ $status -ne $wanted ]; then
  echo "status $status, wanted $wanted"
  exit 1
fi
case $printed in
  *"$line"*) exit 0 ;;
esac
echo "no line says: $line"
exit 1
