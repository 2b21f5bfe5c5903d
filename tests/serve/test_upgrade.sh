#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An upgrade and a roll-back by one version of the store, while users submit and jobs run: nothing is lost, nothing runs twice.
# WZ_OLD names a program of the version before (tools/build-old); without it the test builds one when WZ_BUILD_OLD is set.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

new=$wz
# A file of the future: refused, with what to do, and not changed.
up
run 0 "$wz" run -- true
down
sum() { python3 -c 'import sqlite3, sys; print(sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True).execute("SELECT count(*), max(seq) FROM journal").fetchone())' "$state_dir/store.db"; }
before=$(sum)
cp -r "$state_dir" "$dir/future"
python3 - "$dir/future/store.db" <<'PY'
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("INSERT INTO migrations VALUES (99, 98, 0, 'wz 9.9')")
c.execute("PRAGMA user_version = 99")
c.commit()
PY
run 1 "$wz" serve --state "$dir/future" --socket "$dir/f.sock" --no-cgroup --cluster "$dir/cluster.yaml"
says "newer"
run 1 "$wz" doctor --state "$dir/future"
[ "$before" = "$(sum)" ] || fail "the state was changed"
ok "a store of a later version is refused politely"

old=${WZ_OLD-}
if [ -z "$old" ] && [ -n "${WZ_BUILD_OLD-}" ]; then
	old=$("$WZ_SOURCE_ROOT/tools/build-old" "$dir/old" 2>"$err") || fail "build-old"
fi
if [ -z "$old" ]; then
	skip "up and back again under load" "WZ_OLD names no program of the version before (tools/build-old DIR makes one)"
	finish
fi

rm -rf "$state_dir"
wz=$old
up
mkdir "$dir/ran"
stop=$dir/stop
for u in 1 2 3; do
	(
		n=0
		while [ ! -e "$stop" ]; do
			n=$((n + 1))
			until "$new" submit --gpus 1 --key "u$u.$n" -- sh -c \
				'echo "start $WZ_ATTEMPT" >>"$1/$WZ_JOB_ID"; sleep 0.2; echo end >>"$1/$WZ_JOB_ID"' job "$dir/ran" >>"$dir/told" 2>>"$dir/submit.err"; do
				sleep 0.02
			done
		done
	) &
done
for next in "$new" "$old" "$new" "$old" "$new"; do
	sleep 1
	kill "$pid"
	wait "$pid" || fail "the end of $wz"
	wz=$next
	launch
	until_true is_ready || sed 's/^/# /' "$dir/serve.log"
done
sleep 0.5
touch "$stop"
# shellcheck disable=SC2317 # called by name
wait_for_users() { ! pgrep -f "job $dir/ran" >/dev/null; }
until_true wait_for_users
until_true none_left
told=$(sort -un "$dir/told" | wc -l)
all=$("$wz" ps --all --json | grep -c '"id":')
echo "# $told acknowledged over five changes of the program"
[ "$told" = "$all" ] || fail "$told acknowledged, $all are there"
[ "$(sort "$dir/told" | uniq -d | wc -l)" = 0 ] || fail "a number was given twice"
# shellcheck disable=SC2013 # numbers
for job in $(sort -un "$dir/told"); do
	printf 'start 1\nend\n' | cmp -s - "$dir/ran/$job" || fail "job $job ran as: $(tr '\n' ' ' <"$dir/ran/$job" 2>&1)"
done
run 0 "$wz" doctor --state "$state_dir"
ok "up and back again under load: nothing lost, nothing twice"
finish
