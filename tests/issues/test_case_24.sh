#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 24: too much environment. A job has a clean base, what is on the pass list, and what was chosen; nothing of the
# daemon's own, and nothing else of the submitter's.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

export DAEMON_CANARY=daemon
up
unset DAEMON_CANARY
export SUBMIT_CANARY=submitter HF_HOME=/models VIRTUAL_ENV=/venv
run 0 "$wz" run --pass 'HF_*' --env OMP_NUM_THREADS=8 -- env
prints "HF_HOME=/models"
prints "VIRTUAL_ENV=/venv"
prints "OMP_NUM_THREADS=8"
prints "PATH="
! grep -q CANARY "$out" || fail "a canary passed: $(grep CANARY "$out")"
run 0 "$wz" run --env-all -- env
prints "SUBMIT_CANARY=submitter"
! grep -q DAEMON_CANARY "$out" || fail "the daemon's own variable passed"
ok "base, pass list, and what was chosen"
finish
