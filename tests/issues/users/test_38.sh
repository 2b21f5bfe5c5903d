#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 38: a shell that lost its terminal is kept for a while, and not for ever.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
person() { python3 "$WZ_SOURCE_ROOT/tests/serve/type.py" "$@"; }
SHELL=/bin/sh
export SHELL
unset ENV
prompt='$ '
[ "$(id -u)" != 0 ] || prompt='# '
up
run 0 person "see:$prompt" 'type:PS1="<ready> "; x=same\r' 'see:<ready> ' 'hang' -- "$wz" shell --gpus 1 --keep 12s
job=$("$wz" ps --json | grep -o '"id":[0-9]*' | tail -1 | cut -d: -f2)
is "$job" RUNNING || fail "after a drop it is $(state "$job")"
run 0 person 'see:<ready> ' 'type:echo $x-$x\r' 'see:same-same' 'hang' -- "$wz" attach "$job"
ok "within its time it is the same shell"
until_true is "$job" CANCELLED
run 1 "$wz" wait "$job"
run 0 "$wz" run --gpus 4 --tasks 2 --gpu-type a100 -- true
ok "later it is ended, and its device is free"
finish
