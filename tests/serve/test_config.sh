#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The configuration: clear errors, options above the file, reload, TLS with tokens and roles, the audit log, rate limits.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
export XDG_CONFIG_HOME="$dir/config"

conf=$dir/whalezen.yaml
wrong() { # TEXT ERROR
	printf '%s\n' "$1" >"$conf"
	run 1 "$wz" serve --check-config --config "$conf"
	says "$2"
	no_output
}

wrong 'version: 2' "whalezen.yaml:1:10: expected 1, the version of this format, got \"2\""
wrong 'state: /x' "version"
wrong 'version: 1
retension: {jobs: 1d}' "did you mean \"retention\""
wrong 'version: 1
retention: {jobs: soon}' "whalezen.yaml:2:19: expected an age such as 90d"
wrong 'version: 1
state: here' "expected an absolute path, got \"here\""
wrong 'version: 1
listen: {address: "0.0.0.0:1", cert: /x}' "expected cert and key, both or none"
wrong 'version: 1
roles: {local: king}' "user, viewer or none"
wrong 'version: 1
limits: {rate: {user: fast}}' "expected a rate such as"
wrong 'version: 1
notifications: [{name: a, type: webhook}]' "url, for a webhook alone"
wrong 'version: 1
notifications: [{name: a, type: command, command: [rm, -rf]}]' "absolute path"
wrong 'version: 1
notifications: [{name: a, type: mail}, {name: a, type: mail}]' "no other entry has"
wrong 'version: 1
version: 1' "given twice"
wrong 'version: 1
queues: {.x: ""}' "expected a name of 1 to 63"
wrong 'version: 1
queues: {x: {weight: "1 2"}}' "whalezen.yaml:2:22: expected one word"
wrong '- version' "expected keys such as"
printf 'version: 1\n' >"$conf"
chmod 666 "$conf"
run 1 "$wz" serve --check-config --config "$conf"
says "others could change"
chmod 600 "$conf"
run 0 "$wz" serve --check-config --config "$conf"
run 3 "$wz" serve --check-config --config "$dir/none.yaml"
ok "a mistake is told by file, line, column and what was expected"

# A certificate of our own, and its authority for the client.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1" \
	-keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null || fail "no certificate"
chmod 600 "$dir/key.pem"
me=$(id -un)
cat >"$conf" <<EOT
version: 1
state: $state_dir
cluster: $dir/cluster.yaml
cgroups: false
tokens: $dir/tokens
listen: [{address: "127.0.0.1:0", cert: $dir/cert.pem, key: $dir/key.pem}]
roles: {admins: {users: [$me]}}
audit: {size: 64Ki, files: 2}
EOT
run 0 "$wz" token create --tokens "$dir/tokens" --role viewer eye
eye=$(cat "$out")
says "no daemon was told"
run 0 "$wz" token create --tokens "$dir/tokens" --role user "$me"
mine=$(cat "$out")
run 0 "$wz" token create --tokens "$dir/tokens" --role admin boss
boss=$(cat "$out")
run 1 "$wz" token create --tokens "$dir/tokens" eye
says "already"
run 2 "$wz" token create --tokens "$dir/tokens" --role king x
run 0 "$wz" token list --tokens "$dir/tokens"
prints "boss"
grep -q "$boss" "$dir/tokens" "$out" && fail "the token itself is kept"
[ "$(stat -c %a "$dir/tokens")" = 600 ] || fail "mode of the token file"
ok "tokens are made, listed, and shown once"

launch() {
	"$wz" serve --config "$conf" >>"$dir/serve.log" 2>&1 &
	pid=$!
}
up
find_url() { url=https://127.0.0.1:$(sed -n 's/.*listens at: .*port \([0-9]*\).*/\1/p' "$dir/serve.log" | tail -1); }
find_url
remote() { # TOKEN wz args...
	token=$1
	shift
	env WZ_SERVER="$url" WZ_CA="$dir/cert.pem" WZ_TOKEN="$token" "$wz" "$@"
}
run 0 remote "$eye" ps
run 4 remote "$eye" submit -- true
says "your role does not allow this"
run 1 remote "wz_0000" ps
says "not known"
run 1 remote "" ps
says "token"
run 1 env WZ_SERVER="$url" WZ_TOKEN="$eye" "$wz" ps
says "certificate"
run 0 remote "$mine" submit --gpus 1 -- true
job=$(cat "$out")
run 0 "$wz" wait "$job"
run 4 remote "$mine" drain --reason test t4
says "admins"
run 0 remote "$boss" drain --reason test t4
run 0 remote "$boss" undrain t4
mkdir -p "$XDG_CONFIG_HOME/whalezen"
cp "$dir/cert.pem" "$XDG_CONFIG_HOME/whalezen/ca.pem"
printf '%s\n' "$eye" >"$XDG_CONFIG_HOME/whalezen/token"
chmod 644 "$XDG_CONFIG_HOME/whalezen/token"
run 1 "$wz" ps --server "$url"
says "others can read"
chmod 600 "$XDG_CONFIG_HOME/whalezen/token"
run 0 "$wz" ps --server "$url"
ok "TLS, tokens and roles"

run 0 "$wz" token revoke --tokens "$dir/tokens" eye
run 1 "$wz" ps --server "$url"
says "not known"
ok "a revoked token is refused at once"

run 0 "$wz" reload
prints "nothing changed"
sed -i 's/64Ki/128Ki/' "$conf"
echo "limits: {rate: {viewer: \"1/s burst 3\"}}" >>"$conf"
sed -i "s|^cgroups: false|cgroups: true|" "$conf"
run 0 "$wz" reload
prints "changed: limits audit"
prints "needs a restart: cgroups"
sed -i "s|^cgroups: true|cgroups: false|" "$conf"
run 0 "$wz" token create --tokens "$dir/tokens" --role viewer eye2
eye=$(cat "$out")
for _ in 1 2 3 4 5 6; do remote "$eye" nodes >"$out" 2>"$err"; done
says "too many requests"
echo "retention: {jobs: x}" >>"$conf"
run 1 "$wz" reload
says "expected an age"
run 0 "$wz" ps
kill -HUP "$pid"
until_true grep -q "stays as it was" "$dir/serve.log"
sed -i '$d' "$conf"
kill -HUP "$pid"
until_true sh -c "tail -3 '$dir/serve.log' | grep -q 'reloaded; changed'"
ok "reload: what changed, what needs a restart, and a mistake changes nothing"

run 0 "$wz" audit
prints "job_submit"
prints "node_drain"
prints "NotAllowed"
prints "127.0.0.1"
run 0 "$wz" audit --json
prints '"verb":"reload"'
python3 - "$state_dir/audit.log" <<'PY' || fail "the audit file"
import json, os, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
assert any(x["operation"] == "job_submit" and x["status"] == 201 and x["from"] for x in lines), lines
assert any(x.get("reason") == "UnknownToken" and x["status"] == 401 for x in lines)
assert os.stat(sys.argv[1]).st_mode & 0o777 == 0o600
PY
grep -q "$mine" "$state_dir/audit.log" && fail "a token in the audit log"
ok "audit: rows and file"

i=0
while [ $i -lt 300 ] && [ ! -e "$state_dir/audit.log.1" ]; do
	"$wz" hold "$job" "$job" "$job" "$job" "$job" "$job" "$job" "$job" >/dev/null 2>&1
	i=$((i + 1))
done
[ -e "$state_dir/audit.log.1" ] || fail "the audit log was never turned over"
[ "$(stat -c %s "$state_dir/audit.log.1")" -le 131072 ] || fail "larger than it may be"
ok "the audit file is turned over"

sed -i 's/^limits:.*/limits: {jobs: 3, jobs-per-user: 2}/' "$conf"
echo 'defaults: {profile: "cpus=2 mem=1Gi gpus=1"}' >>"$conf"
run 0 "$wz" reload
prints "changed: defaults limits"
run 0 remote "$mine" submit --hold --cpus 3 -- true
first=$(cat "$out")
run 0 "$wz" show "$first"
prints "gpus=1"
prints "cpus=3"
prints "mem=1Gi"
run 0 remote "$mine" submit --hold -- true
run 1 remote "$mine" submit --hold -- true
says "as one user may: 2"
run 0 "$wz" submit --hold -- true
third=$(cat "$out")
run 1 "$wz" submit --hold -- true
says "as it may: 3"
run 0 "$wz" cancel "$first" "$third"
run 0 remote "$mine" submit --hold -- true
crash
up
find_url
run 1 remote "$mine" submit --hold -- true
ok "defaults, and how many jobs there may be, after a crash too"

sed -i '/^limits:/d; /^defaults:/d' "$conf"
echo 'queues: {small: "parent=vision job-limit=gpu:1", vision: {weight: 2, user-limit: "gpu:2"}}' >>"$conf"
run 0 "$wz" reload
prints "queues"
"$wz" submit --queue small --gpus 2 -- true >"$out" 2>"$err"
until_true sh -c "'$wz' ps | grep -q 'more than the queue gives one job'"
"$wz" submit --queue nosuch --gpus 1 -- true >"$out" 2>"$err" && fail "a queue that is not there"
run 0 "$wz" run --queue small --gpus 1 -- true
sed -i 's/weight: 2/weight: x/' "$conf"
run 1 "$wz" reload
says "queues.vision"
sed -i 's/weight: x/weight: 3/' "$conf"
run 0 "$wz" reload
prints "changed: queues"
crash
up
find_url
run 0 "$wz" run --queue small --gpus 1 -- true
# shellcheck disable=SC2046
"$wz" cancel $("$wz" ps -q) >/dev/null 2>&1
until_true none_left
sed -i '/^queues:/d' "$conf"
run 0 "$wz" reload
"$wz" submit --queue small --gpus 1 -- true >"$out" 2>"$err" && fail "a queue that was taken out"
ok "queues come from the file, change with it, and go with it"

down
up
run 0 "$wz" ps
ok "and the next run begins with the same file"
finish
