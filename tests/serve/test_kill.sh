#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the daemon in the midst of submits, starts and ends, WZ_KILLS times (20): each acknowledged job ran once, and no other.
# shellcheck disable=SC1091,SC2154,SC2013
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

mkdir "$dir/ran"
up
i=0
kills=${WZ_KILLS-20}
while [ "$i" -lt "$kills" ]; do
	i=$((i + 1))
	(
		for k in 1 2 3 4 5 6; do
			# A user who tries again until it is told a number: the key makes that one job.
			# shellcheck disable=SC2016
			until "$wz" submit --gpus 1 --key "k$i.$k" -- sh -c \
				'echo start >>"$1/$WZ_JOB_ID"; sleep 0.1; echo end >>"$1/$WZ_JOB_ID"' job "$dir/ran" \
				>>"$dir/told" 2>>"$dir/submit.err"; do
				sleep 0.02
			done
		done
	) &
	submits=$!
	sleep "0.0$((i % 5 * 2 + 1))"
	[ $((i % 2)) = 0 ] || sleep 0.1
	crash
	up
	wait "$submits"
done
# shellcheck disable=SC2046
"$wz" wait $("$wz" ps --all --json | grep -o '"id":[0-9]*' | cut -d: -f2) >"$out" 2>"$err" || fail "not all completed"
told=$(sort -un "$dir/told" | wc -l)
all=$("$wz" ps --all --json | grep -c '"id":')
echo "# $told acknowledged, $all in the queue"
want=$((6 * kills))
[ "$told.$all" = "$want.$want" ] || fail "$want were submitted, $told acknowledged, $all are there"
for job in $(sort -un "$dir/told"); do
	is "$job" COMPLETED || fail "job $job is $(state "$job")"
done
ok "no acknowledged job is lost"

for job in $("$wz" ps --all --json | grep -o '"id":[0-9]*' | cut -d: -f2); do
	printf 'start\nend\n' | cmp -s - "$dir/ran/$job" || fail "job $job ran as: $(tr '\n' ' ' <"$dir/ran/$job" 2>&1)"
	"$wz" show "$job" | grep -q '^attempt  *1$' || fail "job $job has more than one attempt"
done
[ "$(find "$dir/ran" -type f | wc -l)" = "$all" ] || fail "$(find "$dir/ran" -type f | wc -l) jobs ran, $all were accepted"
[ "$(sort "$dir/told" | uniq -d | wc -l)" = 0 ] || fail "one number was given to two submits"
ok "no job is doubled"

run 0 "$wz" doctor --state "$state_dir"
! grep -q '^BAD' "$out" || fail "$(cat "$out")"
ok "the journal replays to the same digests"

finish
