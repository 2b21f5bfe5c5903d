#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The doctor: checks beside a running daemon, backup while it runs, restore, fix, a bundle without secrets; network disks.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up
one=$(env HIDDEN_IN_ENV=1 WZ_TEST_VALUE=s3cretvalue "$wz" submit --name secret-name --gpus 1 -- sh -c 'echo s3cretcommand; exit 3')
run 1 "$wz" wait "$one"
two=$(submit --gpus 1 -- sleep 100)
until_true is "$two" RUNNING
run 0 "$wz" doctor --state "$state_dir"
prints "ok   journal: numbers and checksums"
prints "ok   daemon, agent"
prints "ok   daemon, invariants"
prints "ok   file system"
run 0 "$wz" ps --all --limit 1
says "there are more"
prints "RUNNING"
run 0 "$wz" ps --all --limit 0
[ ! -s "$err" ] || fail "more than all"
ok "all is well beside a running daemon"

run 0 "$wz" doctor --state "$state_dir" --backup "$dir/backup.db"
prints "backup.db"
[ "$(stat -c %a "$dir/backup.db")" = 600 ] || fail "mode of the backup"
run 1 "$wz" doctor --state "$state_dir" --backup "$dir/backup.db"
run 0 "$wz" doctor --state "$state_dir" --backup "$dir/backup.db" --replace
run 1 "$wz" doctor --state "$state_dir" --fix
says "daemon"
run 1 "$wz" doctor --state "$state_dir" --restore "$dir/backup.db" --replace
three=$(submit --gpus 1 -- true)
run 0 "$wz" wait "$three"
ok "backup while it runs; what would disturb it is refused"

run 0 "$wz" doctor --state "$state_dir" --bundle "$dir/bundle.tar.gz"
prints "bundle.tar.gz"
[ "$(stat -c %a "$dir/bundle.tar.gz")" = 600 ] || fail "mode of the bundle"
mkdir "$dir/b" && tar -xzf "$dir/bundle.tar.gz" -C "$dir/b"
for f in doctor.txt machine.txt jobs.txt journal.txt metrics.txt info.json devices.json; do
	[ -s "$dir/b/$f" ] || fail "lacks $f"
done
grep -q "^job $one uid" "$dir/b/jobs.txt" || fail "jobs"
grep -q '"ev":' "$dir/b/journal.txt" || fail "journal"
for word in s3cret secret-name HIDDEN_IN_ENV "$(id -un)\"" ; do
	grep -rF -- "$word" "$dir/b" >"$out" && fail "the bundle has $word: $(head -1 "$out")"
done
run 0 "$wz" doctor --state "$state_dir" --bundle "$dir/more.tar.gz" --with-commands
mkdir "$dir/m" && tar -xzf "$dir/more.tar.gz" -C "$dir/m"
grep -q s3cretcommand "$dir/m/jobs.txt" || fail "commands that were asked for"
grep -rq -e s3cretvalue -e HIDDEN_IN_ENV "$dir/m" && fail "an environment"
ok "a bundle has what helps, and no secret"

down
python3 - "$state_dir/store.db" <<'PY'
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("UPDATE jobs SET state = 2, user = 'somebody'")
c.commit()
PY
run 1 "$wz" doctor --state "$state_dir"
says "BAD  table jobs"
no_output
run 0 "$wz" doctor --state "$state_dir" --fix
prints "made the tables anew"
run 0 "$wz" doctor --state "$state_dir"
ok "tables that differ from the journal are found and mended"

run 1 "$wz" doctor --state "$state_dir" --restore "$dir/backup.db"
run 0 "$wz" doctor --state "$state_dir" --restore "$dir/backup.db" --replace
up
run 3 "$wz" show "$three"
run 0 "$wz" show "$one"
until_true is "$two" RUNNING
ok "restored: what came after the backup is not there, and what runs is adopted"
down

head -c 4096 /dev/urandom >"$dir/rubbish"
run 1 "$wz" doctor --state "$state_dir" --restore "$dir/rubbish" --replace
run 0 "$wz" doctor --state "$state_dir"
printf 'x' | dd of="$state_dir/store.db" bs=1 seek=20000 conv=notrunc 2>/dev/null
"$wz" doctor --state "$state_dir" >"$out" 2>&1
[ $? -le 1 ] || fail "a damaged store"
run 0 "$wz" doctor --state "$state_dir" --restore "$dir/backup.db" --replace
ok "rubbish is refused as a backup; a damaged store is told and replaced"

if [ "$(id -u)" = 0 ] && mkdir "$dir/tmpfs" && mount -t tmpfs -o size=24m none "$dir/tmpfs" 2>/dev/null; then
	cp "$dir/cluster.yaml" "$dir/tmpfs/"
	old=$WZ_SERVER
	"$wz" serve --state "$dir/tmpfs/s" --cluster "$dir/cluster.yaml" --no-cgroup >>"$dir/serve.log" 2>&1 &
	full=$!
	WZ_SERVER=$dir/tmpfs/s/whalezen.sock
	until_true is_ready
	before=$(submit --gpus 1 -- sh -c 'sleep 1; exit 7')
	until_true is "$before" RUNNING
	head -c 100m /dev/zero >"$dir/tmpfs/filler" 2>/dev/null
	i=0
	big=$(head -c 4000 /dev/zero | tr "\0" x)
	while [ $i -lt 2000 ] && submit --comment "$big" -- true "$big" "$big" "$big" >"$out" 2>"$err"; do i=$((i + 1)); done
	says "disk"
	run 0 "$wz" ps
	run 1 "$wz" doctor --state "$dir/tmpfs/s"
	says "BAD  daemon, journal"
	rm "$dir/tmpfs/filler"
	until_true submit -- true
	run 1 "$wz" wait "$before"
	is "$before" FAILED || fail "what ran meanwhile is $("$wz" show "$before")"
	# shellcheck disable=SC2046
	"$wz" cancel $("$wz" ps --json | grep -o '"id":[0-9]*' | cut -d: -f2) >/dev/null 2>&1
	until_true none_left
	run 0 "$wz" doctor --state "$dir/tmpfs/s"
	kill "$full" && wait "$full"
	WZ_SERVER=$old
	umount "$dir/tmpfs"
	ok "a full disk refuses new work, loses nothing, and heals"
else
	skip "a full disk refuses new work, loses nothing, and heals" "needs root to mount a small disk"
fi
finish
