#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 25: secrets on show. A canary is in no table, journal line, log of ours, API answer, argument list or world readable
# file; it reaches the job as a file or a variable, and is gone afterwards.
# shellcheck disable=SC1091,SC2154,SC2016,SC2012,SC2018,SC2019,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

canary=canary-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
up
printf '%s\n' "$canary" >"$dir/token.txt"
chmod 600 "$dir/token.txt"
body='cat "$WZ_SECRETS_DIR/TOKEN" | tr a-z A-Z; echo; stat -c %a "$WZ_SECRETS_DIR" "$WZ_SECRETS_DIR/TOKEN"; until [ -e "$1" ]; do sleep 0.05; done'
job=$(submit --secret "TOKEN=$dir/token.txt" -- sh -c "$body" job "$dir/go")
until_true is "$job" RUNNING
upper=$(echo "$canary" | tr a-z A-Z)
# shellcheck disable=SC2317 # called by name
said() { "$wz" logs "$job" | grep -q "$upper"; }
until_true said || fail "the job has it: $("$wz" logs "$job")"
run 0 "$wz" logs "$job"
prints 700
prints 400
nowhere() { # while it runs, and afterwards
	! grep -rqsFf "$dir/token.txt" "$state_dir" "$dir/serve.log" || fail "$1: on the disk: $(grep -rlFf "$dir/token.txt" "$state_dir")"
	for what in "show $job" "show --json $job" "ps --all --json" "why $job"; do
		# shellcheck disable=SC2086
		! "$wz" $what | grep -qFf "$dir/token.txt" || fail "$1: wz $what"
	done
	! cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -qFf "$dir/token.txt" || fail "$1: in arguments"
}
nowhere "while it runs"
sealed=$(ls "$state_dir/secrets")
[ "$(echo "$sealed" | wc -w)" = 1 ] || fail "sealed: $sealed"
[ "$(stat -c %a "$state_dir/secrets/$sealed" "$state_dir/secret.key" | tr '\n' ' ')" = "600 600 " ] || fail "modes"
crash
up
is "$job" RUNNING || fail "after a crash: $(state "$job")"
echo >"$dir/go"
run 0 "$wz" wait "$job"
[ -z "$(ls "$state_dir/secrets")" ] || fail "they outlive the job: $(ls "$state_dir/secrets")"
none_in_memory() { ! ls /dev/shm/whalezen-"$(id -u)"-"$job".* >/dev/null 2>&1; }
until_true none_in_memory || fail "in memory: $(ls /dev/shm)"
nowhere "afterwards"
ok "as a file: sealed at rest, private while it runs, gone afterwards"

TOKEN=$canary run 0 "$wz" run --secret TOKEN --secrets-env -- sh -c 'echo "${#TOKEN}"'
prints "${#canary}"
TOKEN=$canary run 0 "$wz" run --secret TOKEN --env-all -- sh -c 'echo "[$TOKEN]"'
prints "[]"
run 3 "$wz" submit --secret NOT_THERE -- true
run 1 "$wz" submit --secret 'bad name' -- true
retry=$(TOKEN=$canary submit --secret TOKEN --retries 1 --retry-delay 100ms -- sh -c '[ -s "$WZ_SECRETS_DIR/TOKEN" ] && [ "$WZ_ATTEMPT" = 2 ]')
run 0 "$wz" wait "$retry"
array=$(TOKEN=$canary submit --secret TOKEN --array 0-2%1 -- sh -c '[ -s "$WZ_SECRETS_DIR/TOKEN" ]')
run 0 "$wz" wait "$array"
[ -z "$(ls "$state_dir/secrets")" ] || fail "left: $(ls "$state_dir/secrets")"
nowhere "as a variable"
chmod 644 "$state_dir/secret.key"
TOKEN=$canary run 4 "$wz" submit --secret TOKEN -- true
says "can be read by others"
chmod 600 "$state_dir/secret.key"
ok "as a variable, for each attempt and task; an exposed key is refused"

chmod 711 "$dir"
as_nobody() { su -s /bin/sh nobody -c "cd / && WZ_SERVER=$WZ_SERVER $*"; }
if [ "$(id -u)" = 0 ] && as_nobody "$wz --version" >/dev/null 2>&1; then
	rm -f "$dir/go2"
	job=$(submit --secret "TOKEN=$dir/token.txt" -- sh -c 'until [ -e "$1" ]; do sleep 0.05; done' job "$dir/go2")
	until_true is "$job" RUNNING
	cp "$dir/token.txt" "$dir/pattern.txt" && chmod 644 "$dir/pattern.txt"
	! as_nobody "grep -rqsFf $dir/pattern.txt /dev/shm /proc/[0-9]*/environ" || fail "another user finds it"
	run 1 as_nobody "cat /dev/shm/whalezen-0-$job.0.1/TOKEN"
	run 0 as_nobody "$wz show --json $job"
	! grep -qF "$canary" "$out" || fail "another user sees it"
	run 0 "$wz" cancel "$job"
	ok "another user finds nothing"
else
	skip "another user finds nothing" "needs root, and nobody who can run $wz"
fi
finish
