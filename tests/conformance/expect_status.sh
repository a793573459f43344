#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# expect_status.sh STATUS COMMAND [ARGUMENT...]: succeeds if the command ends with exactly that status.
wanted=$1
shift
"$@"
status=$?
echo "status $status, wanted $wanted"
test "$status" -eq "$wanted"
