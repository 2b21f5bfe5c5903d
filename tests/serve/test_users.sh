#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two users of one daemon, and what each may not do to the other or to root: requests, files, links, /proc, sockets, nonsense.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

# ann is nobody, bob is daemon: two users that every machine has.
chmod 711 "$dir"
as() { # USER COMMAND LINE
	su -s /bin/sh "$1" -c "cd / && HOME=/ WZ_SERVER='$WZ_SERVER' WZ_SOURCE_ROOT='$WZ_SOURCE_ROOT' && export HOME WZ_SERVER WZ_SOURCE_ROOT && $2"
}
ann() { as nobody "$1"; }
bob() { as daemon "$1"; }
if [ "$(id -u)" != 0 ] || ! ann "'$wz' --version" >/dev/null 2>&1 || ! bob "'$wz' --version" >/dev/null 2>&1; then
	skip "two users" "needs root, and users nobody and daemon who can run $wz"
	trap - EXIT
	finish
fi
# shellcheck disable=SC2034 # lib.sh's: real cgroups where there are any
grep -q cgroup /proc/self/mountinfo && cgroup=
mkdir -m 777 "$dir/shared"
mkdir -m 700 "$dir/ann" "$dir/bob"
chown nobody "$dir/ann"
chown daemon "$dir/bob"
echo root-only >"$dir/secret"
chmod 600 "$dir/secret"

DAEMON_CANARY=of-the-daemon
export DAEMON_CANARY
up

run 0 ann "'$wz' run --cwd '$dir/ann' -- sh -c 'id -un; id -G; umask; env; ls -l /proc/self/fd | wc -l; grep Groups /proc/self/status; touch made; exec true'"
prints nobody
grep -qx "$(id -G nobody)" "$out" || fail "groups: $(cat "$out")"
grep -qx 0022 "$out" || fail "umask"
! grep -q DAEMON_CANARY "$out" || fail "the daemon's environment is the job's"
[ "$(stat -c %U "$dir/ann/made")" = nobody ] || fail "files are $(stat -c %U "$dir/ann/made")'s"
run 125 ann "'$wz' run --cwd '$dir/bob' -- true"
says NoWorkingDirectory
mkdir -m 700 "$dir/roots"
run 125 ann "'$wz' run --cwd '$dir/roots' -- true"
run 1 ann "'$wz' submit --script '$dir/secret'"
ok "work runs as who submitted it: groups, umask, environment, files, directories"

a=$(ann "'$wz' submit --name canary-name --comment canary-comment --preempt signal:USR1,grace:5s,ack:file --cwd '$dir/ann' -- sh -c 'echo canary-output; echo ready >ready; while :; do sleep 0.1; done' canary-argument")
until_true test -e "$dir/ann/ready"
for what in "cancel $a" "hold $a" "release $a" "requeue $a" "suspend $a" "resume $a" "signal $a USR1" "logs $a" "logs -f $a" "attach $a"; do
	"$wz" show "$a" >/dev/null
	bob "'$wz' $what" >"$out" 2>"$err"
	code=$?
	[ "$code" != 0 ] || fail "bob may $what"
	grep -q "somebody else\|NotYours" "$err" || fail "$what: $(cat "$err")"
done
for path in report terminal; do
	! bob "python3 '$WZ_SOURCE_ROOT/tests/serve/api.py' POST /v1/jobs/$a/$path '{}'" >"$out" 2>&1 || fail "bob posts $path"
	prints NotYours
done
! bob "python3 '$WZ_SOURCE_ROOT/tests/serve/api.py' GET /v1/jobs/$a/terminal" >"$out" 2>&1 || fail "bob sees a terminal"
run 0 bob "'$wz' show --json $a"
! grep -q "canary-argument\|canary-comment\|canary-output" "$out" || fail "bob sees: $(cat "$out")"
run 0 bob "'$wz' ps --json"
! grep -q "canary-argument\|canary-comment" "$out" || fail "bob sees: $(cat "$out")"
is "$a" RUNNING || fail "ann's job is $(state "$a")"
k1=$(ann "'$wz' submit --key same --hold -- true")
k2=$(bob "'$wz' submit --key same --hold -- true")
[ "$k1" != "$k2" ] || fail "one key, two users, one job"
! bob "'$wz' cancel $k1" >"$out" 2>&1 || fail "bob cancels by key"
run 0 ann "'$wz' cancel $k1"
run 0 bob "'$wz' cancel $k2"
ok "requests about another's job are refused, and what is private is not shown"

# Files and /proc. What bob can read of the state is nothing of ann's.
bob "find '$state_dir' -type f -readable 2>/dev/null; grep -rl canary '$state_dir' 2>/dev/null" >"$out"
[ ! -s "$out" ] || fail "bob reads $(cat "$out")"
main=$("$wz" show "$a" | sed -n 's/^  pid  *//p')
shim=$(awk '/^PPid/ { print $2 }' "/proc/$main/status")
for p in "$pid" "$shim" "$main"; do
	! bob "cat /proc/$p/environ /proc/$p/maps /proc/$p/mem /proc/$p/fd/1" >"$out" 2>/dev/null || fail "bob reads of $p"
	[ ! -s "$out" ] || fail "bob read of $p: $(head -c 80 "$out")"
done
for p in "$pid" "$shim"; do
	! tr '\0' ' ' <"/proc/$p/cmdline" | grep -q canary || fail "ann's words in $(tr '\0' ' ' <"/proc/$p/cmdline")"
done
at="$state_dir/agent/attempts/$a.0.1"
bob "python3 -c '
import socket, sys
def reach(kind, path):
    try:
        s = socket.socket(socket.AF_UNIX, kind); s.connect(path); s.send(b\"1 stop 9 0 0 x\"); print(\"reached\", path)
    except OSError as e: pass
reach(socket.SOCK_SEQPACKET, \"$at/ctl\"); reach(socket.SOCK_SEQPACKET, \"$at/tty\"); reach(socket.SOCK_DGRAM, \"$at/run/sock\")'" >"$out" 2>&1
! grep -q reached "$out" || fail "$(cat "$out")"
! ann "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(\"$at/ctl\")'" 2>/dev/null || fail "the job's own user reaches its shim"
is "$a" RUNNING || fail "ann's job is $(state "$a")"
ok "files, /proc and sockets of another's job are closed"

# Links. Where root writes or looks, a link of the user's leads nowhere.
for name in preempt ack; do
	ann "rm -f '$at/run/$name'; ln -s '$dir/target.$name' '$at/run/$name'" || fail "link"
done
run 0 ann "'$wz' requeue $a"
until_true sh -c "'$wz' show $a | grep -q '^attempt  *2'"
[ -z "$(find "$dir" -maxdepth 1 -name "target.*")" ] || fail "a link was followed"
until_true is "$a" RUNNING
run 0 ann "'$wz' cancel $a"
run 1 ann "'$wz' wait $a"
ln -s "$dir/secret" "$dir/shared/to-secret"
run 125 ann "'$wz' run -o '$dir/shared/to-secret' -- echo overwritten"
says "LAUNCH_FAILED"
[ "$(cat "$dir/secret")" = root-only ] || fail "the file of root is: $(cat "$dir/secret")"
ann "touch '$dir/ann/mine.txt'"
run 125 bob "'$wz' run -o '$dir/ann/mine.txt' -- echo overwritten"
run 125 bob "'$wz' run -e '$dir/ann/mine.txt' -- echo overwritten"
[ ! -s "$dir/ann/mine.txt" ] || fail "bob wrote to ann's file"
b=$(ann "'$wz' submit -o '$dir/ann/log.txt' -- echo to-a-file")
run 0 "$wz" wait "$b"
run 0 ann "'$wz' logs $b"
prints to-a-file
ann "rm '$dir/ann/log.txt'; ln -s '$dir/secret' '$dir/ann/log.txt'"
run 0 ann "'$wz' logs $b"
! grep -q root-only "$out" || fail "a log that became a link shows root's file"
ann "rm '$dir/ann/log.txt'; mkfifo '$dir/ann/log.txt'"
run 0 ann "'$wz' logs $b"
ann "rm '$dir/ann/log.txt'; ln -s /dev/zero '$dir/ann/log.txt'"
run 0 ann "'$wz' logs $b"
run 0 "$wz" nodes
ok "links and strange files where root writes or reads: nothing is followed, nothing hangs"

# A directory that the job changes while it ends.
c=$(ann "'$wz' submit -- sh -c 'cd \"\$WZ_RUN_DIR\"; while :; do mkdir -p d; ln -sf / d/l 2>/dev/null; mv d e; rm -rf e; done'")
until_true is "$c" RUNNING
run 0 "$wz" cancel "$c"
run 1 "$wz" wait "$c"
ls -d /etc "$dir/secret" >/dev/null || fail "something of root's is gone"
until_true test ! -e "$state_dir/agent/attempts/$c.0.1"
d=$(ann "'$wz' submit -- chmod 4777 /proc/self/exe '$dir/ann/made'")
run 1 "$wz" wait "$d" || run 0 "$wz" wait "$d"
[ "$(stat -c %U "$dir/ann/made")" = nobody ] || fail "owner"
run 4 ann "'$wz' submit --priority 1 -- true"
run 4 ann "'$wz' drain --reason mischief t4"
run 4 ann "'$wz' reload"
ok "a run directory that changes while it is removed; what is for admins is for admins"

run 0 bob "python3 '$WZ_SOURCE_ROOT/tests/serve/fuzz_socket.py' 1 4"
cat "$out"
run 0 "$wz" nodes
kill -0 "$pid" || fail "the daemon is gone"
run 0 ann "'$wz' run -- id -un"
prints nobody
ok "nonsense on the socket from a user harms nobody"
finish
