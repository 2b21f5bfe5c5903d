#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 11: two starts, one free card: 64 one-card jobs at once on ten cards, never two on one.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
up
mkdir "$dir/busy" "$dir/wrong"
all=
i=0
while [ $i -lt 64 ]; do
	submit --gpus 1 -- sh -c 'at="$1/busy/$WZ_NODE.$CUDA_VISIBLE_DEVICES"; mkdir "$at" || touch "$1/wrong/$WZ_JOB_ID"; sleep 0.05; rmdir "$at"' job "$dir" >>"$dir/jobs" &
	all="$all $!"
	i=$((i + 1))
done
for p in $all; do wait "$p"; done
[ "$(wc -l <"$dir/jobs")" -ge 64 ] || fail "only $(wc -l <"$dir/jobs") were accepted"
# shellcheck disable=SC2046
run 0 "$wz" wait $(cat "$dir/jobs")
[ -z "$(ls "$dir/wrong")" ] || fail "two on one card: jobs $(echo "$dir"/wrong/*)"
ok "64 jobs, ten cards, one job a card at any time"
rm -f "$dir/jobs"
for i in 1 2 3 4 5 6; do
	submit --gpu-share 50% --gpu-type t4 -- sh -c 'at="$1/busy/half.$CUDA_VISIBLE_DEVICES"; mkdir "$at.1" 2>/dev/null && mine=1 || { mkdir "$at.2" && mine=2; } || touch "$1/wrong/$WZ_JOB_ID"; sleep 0.2; rmdir "$at.$mine"' job "$dir" >>"$dir/jobs"
done
# shellcheck disable=SC2046
run 0 "$wz" wait $(cat "$dir/jobs")
[ -z "$(ls "$dir/wrong")" ] || fail "more than two halves on one card"
ok "and never more than two halves of one"
finish
