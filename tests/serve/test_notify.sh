#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Notifications: a real HTTP server, a command, a stand-in sendmail; signed, retried, limited, and never in the way.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

notes=$dir/notes
: >"$notes"
python3 "$WZ_SOURCE_ROOT/tests/serve/receiver.py" "$notes" "$dir/port" s3cret &
receiver=$!
trap 'kill $receiver 2>/dev/null; clean_up' EXIT
until_true test -s "$dir/port"
url=http://127.0.0.1:$(cat "$dir/port")
printf 's3cret\n' >"$dir/secret"
cat >"$dir/sendmail" <<EOT
#!/bin/sh
echo "args: \$*" >>"$dir/mails"
cat >>"$dir/mails"
EOT
cat >"$dir/hook" <<EOT
#!/bin/sh
echo "\$1 \$WZ_EVENT \$WZ_JOB_ID \$WZ_JOB_STATE \$WZ_JOB_EXIT_CODE \$WZ_JOB_NAME \$(cat)" >>"$dir/hooked"
EOT
chmod +x "$dir/sendmail" "$dir/hook"
conf=$dir/whalezen.yaml
cat >"$conf" <<EOT
version: 1
state: $state_dir
cluster: $dir/cluster.yaml
cgroups: false
notifications:
  - {name: slack, type: webhook, format: slack, url: "$url/slack", events: [failed], every-job: true}
  - {name: feishu, type: webhook, format: feishu, url: "$url/feishu", secret-file: $dir/secret, every-job: true}
  - {name: dingtalk, type: webhook, format: dingtalk, url: "$url/dingtalk?access_token=t", secret-file: $dir/secret, every-job: true}
  - {name: json, type: webhook, url: "$url/json", secret-file: $dir/secret, events: [started, ended], every-job: true}
  - {name: flaky, type: webhook, url: "$url/flaky", events: [failed]}
  - {name: refuse, type: webhook, format: feishu, url: "$url/refuse", tries: 1}
  - {name: slow, type: webhook, url: "$url/slow", timeout: 1s, tries: 2}
  - {name: hook, type: command, command: [$dir/hook, one], events: [ended], every-job: true}
  - {name: post, type: mail, sendmail: $dir/sendmail, events: [failed]}
  - {name: others, type: webhook, url: "$url/others", users: [nobody-of-here], every-job: true}
EOT
launch() {
	"$wz" serve --config "$conf" >>"$dir/serve.log" 2>&1 &
	pid=$!
}
up

# The body of a submit with its wish: {"argv": ..., "notify": ...}.
ask() { # NOTIFY COMMAND
	curl -sS --unix-socket "$WZ_SERVER" -H 'Content-Type: application/json' http://x/v1/jobs \
		-d "{\"argv\":[\"sh\",\"-c\",\"$2\"],\"name\":\"a \$(touch $dir/owned) job\",\"notify\":\"$1\"}"
}
number() { sed -n 's/.*"id":\([0-9]*\).*/\1/p'; }
has() { # FILE TEXT
	grep -qF -- "$2" "$1"
}

job=$(ask "post,flaky:failed" "exit 5" | number)
run 1 "$wz" wait "$job"
for path in /slack /feishu /dingtalk /json; do until_true has "$notes" "\"path\": \"$path\""; done
until_true has "$dir/hooked" "one failed $job FAILED 5"
until_true has "$dir/mails" "args: -i -- $(id -un)"
grep -q '"signed": false' "$notes" && fail "a signature is wrong"
[ "$(grep -c '"signed": true' "$notes")" -ge 3 ] || fail "signatures"
has "$notes" "Job $job (a \$(touch" || fail "the text"
[ -e "$dir/owned" ] && fail "a job's name was run"
has "$notes" /others && fail "another user's"
grep -q '^Subject: =?UTF-8?B?' "$dir/mails" || fail "subject"
ok "webhooks with their signatures, a command, mail"

until_true sh -c "[ \"\$(grep -c /flaky '$notes')\" = 3 ]"
ok "a receiver that fails is tried again"

case $(ask "nosuch" true) in *'"field":"notify"'*) ;; *) fail "an unknown name" ;; esac
case $(ask "slakc" true) in *"did you mean slack"*) ;; *) fail "a near one" ;; esac
case $(ask "others" true) in *'"field":"notify"'*) ;; *) fail "not for this user" ;; esac
case $(ask "post:sometimes" true) in *"expected started"*) ;; *) fail "an unknown event" ;; esac
: >"$notes"
quiet=$(ask "none" "exit 1" | number)
run 1 "$wz" wait "$quiet"
refused=$(ask "refuse" "exit 1" | number)
run 1 "$wz" wait "$refused"
until_true has "$dir/serve.log" "notification refuse of job $refused: the receiver answered with code 19021; given up"
grep -q "\"job\": $quiet" "$notes" && fail "none is none"
ok "wishes are checked; none is none; an error in the answer is an error"

# Four that never answer hold the four threads; the daemon goes on, and the rest comes when they are given up.
for _ in 1 2 3 4 5 6; do ask "slow" "exit 1" >/dev/null; done
run 0 "$wz" run -- true
until_true has "$dir/serve.log" "notification slow"
ok "receivers that never answer are in nobody's way"
down
kill "$receiver"
has "$dir/serve.log" "were not delivered" || true
finish
