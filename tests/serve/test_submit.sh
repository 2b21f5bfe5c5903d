#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a submit may ask for, with real processes on an emulated cluster: files and scripts, arrays, sweeps and lines, conditions
# and retries, dry runs, edits, and the exit codes.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

field() { "$wz" show "$1" | sed -n "s/^$2  *//p"; }
reason_is() { [ "$(field "$1" reason)" = "$2" ]; }
up

cat >"$dir/job.yaml" <<'YAML'
name: prep
run: sh -c 'echo "prep of $WHO"'
cpus: 1
env: {set: {WHO: yaml}}
labels: {team: vision}
---
name: train
run: sh -c 'echo train'
gpus: a100:1
after: {ok: prep}
YAML
run 0 "$wz" submit "$dir/job.yaml"
both=$(cat "$out")
[ "$(echo "$both" | wc -l)" = 2 ] || fail "two documents: $both"
# shellcheck disable=SC2086
run 0 "$wz" wait $both
prep=$(echo "$both" | sed -n 1p)
train=$(echo "$both" | sed -n 2p)
run 0 "$wz" logs "$prep"
prints "prep of yaml"
run 0 "$wz" show "$train"
prints "afterok:$prep"
run 0 "$wz" ps --all --label team=vision
prints "prep"
! grep -q train "$out" || fail "a job without the label is shown"
printf 'run: true\ngpsu: 2\n' >"$dir/bad.yaml"
run 1 "$wz" submit "$dir/bad.yaml"
says 'bad.yaml:2:1: unknown key "gpsu"; did you mean "gpus"?'
printf 'run: true\n---\nrun: true\nafter: {ok: nobody}\n' >"$dir/bad.yaml"
before=$("$wz" ps --all --tasks | wc -l)
run 3 "$wz" submit "$dir/bad.yaml"
says nobody
[ "$("$wz" ps --all --tasks | wc -l)" = "$before" ] || fail "half a file was submitted"
ok "a job file of several documents; a fault makes none of them"

cat >"$dir/train.sh" <<'SH'
#!/bin/bash
#SBATCH --job-name=from-slurm -c 1 --time=10
#SBATCH --account=lab
#WZ --label kind=script
echo "$SLURM_JOB_NAME got $# arguments: $*; ${BASH_VERSION:+bash}"
SH
run 0 "$wz" submit "$dir/train.sh" one -- --epochs 5
says "--account has no effect"
script=$(cat "$out")
run 0 "$wz" wait "$script"
run 0 "$wz" logs "$script"
prints "from-slurm got 3 arguments: one --epochs 5; bash"
rm "$dir/train.sh"
printf '#!/bin/sh\n#SBATCH --nodelist=n1\n' >"$dir/w.sh"
run 1 "$wz" submit "$dir/w.sh"
says "w.sh:2: --nodelist=n1"
run 0 "$wz" run --sh 'echo $((6 * 7))'
prints 42
run 0 "$wz" run -- echo '$HOME' '*' "two  words" ""
prints '$HOME * two  words'
ok "scripts with #SBATCH and #WZ lines; a shell only when asked"

array=$(submit --array 1-7:2 --cpus 1 -- sh -c 'echo "task $WZ_ARRAY_INDEX of $WZ_ARRAY_COUNT, $WZ_ARRAY_MIN to $WZ_ARRAY_MAX"')
run 0 "$wz" wait "$array"
run 0 "$wz" logs "${array}_5"
prints "task 5 of 4, 1 to 7"
run 3 "$wz" logs "${array}_4"
run 0 "$wz" ps --all
prints "${array}_3"
throttled=$(submit --array 0-5%2 --name throttled --cpus 1 -- sh -c 'until [ -e "$1.$WZ_ARRAY_INDEX" ]; do sleep 0.02; done' job "$dir/go")
# shellcheck disable=SC2317 # called by name
runs() { [ "$("$wz" ps --name throttled --state RUNNING --tasks | tail -n +2 | wc -l)" = "$1" ]; }
until_true runs 2
run 0 "$wz" ps
prints "${throttled}_[2-5]"
prints "as many tasks of its array run as may (2)"
echo >"$dir/go.0"
until_true is "${throttled}_2" RUNNING
until_true is "${throttled}_0" COMPLETED
runs 2 || fail "throttled: $("$wz" ps --tasks)"
run 0 "$wz" cancel "${throttled}_[3-4]"
is "${throttled}_4" CANCELLED || fail "task 4: $(state "${throttled}_4")"
is "${throttled}_5" PENDING || fail "task 5: $(state "${throttled}_5")"
crash
up
is "${throttled}_5" PENDING || fail "after a crash, task 5: $(state "${throttled}_5")"
echo >"$dir/go.1"
until_true is "${throttled}_5" RUNNING
run 0 "$wz" cancel "$throttled"
run 1 "$wz" wait "$throttled"
run 4 "$wz" cancel "$throttled"
run 1 "$wz" submit --array 5-1 -- true
says "no set of indices"
ok "arrays: indices, a throttle that survives a crash, parts of them cancelled"

sweep=$(submit --cpus 1 --sweep lr=0.1,0.01 --sweep seed=1..3 -- echo 'lr {lr}' 'seed {seed}' '{"a":1}')
run 0 "$wz" wait "$sweep"
run 0 "$wz" logs "${sweep}_4"
prints 'lr 0.01 seed 2 {"a":1}'
run 0 "$wz" show "${sweep}_4"
prints "lr=0.01"
printf 'echo one\n# no job\n\necho "two words"\n' >"$dir/lines.txt"
lines=$(submit --lines "$dir/lines.txt" --cpus 1)
run 0 "$wz" wait "$lines"
run 0 "$wz" logs "${lines}_1"
prints "two words"
printf 'echo a | b\n' >"$dir/lines.txt"
run 1 "$wz" submit --lines "$dir/lines.txt"
says "line 1: "
lines=$(submit --lines "$dir/job.yaml" --cpus 1 -- echo 'got {line}')
run 0 "$wz" wait "$lines"
run 0 "$wz" logs "${lines}_0"
prints "got name: prep"
ok "sweeps and line files"

first=$(submit --name gate -- sh -c 'until [ -e "$1" ]; do sleep 0.02; done; exit $2' job "$dir/gate" 3)
good=$(submit --after "afterok:$first" -- true)
notok=$(submit --after "afternotok:$first" -- true)
any=$(submit --after "afterany:$first" -- true)
either=$(submit --after "afterok:$first?afterany:$any" -- true)
chain=$(submit --after "afterok:$good" -- true)
hold=$(submit --after "afterok:$first" --on-dep-fail hold -- true)
must=$(submit --after "afterok:$first" --on-dep-fail run -- true)
single=$(submit --name gate --after singleton -- true)
started=$(submit --after "after:$first" -- true)
run 0 "$wz" wait "$started"
is "$good" PENDING || fail "good: $(state "$good")"
reason_is "$good" Dependency || fail "good: $(field "$good" reason)"
run 0 "$wz" why "$good"
prints "afterok:$first"
run 1 "$wz" submit --after "afterok:99999999" -- true
says "does not exist"
crash
up
echo >"$dir/gate"
run 1 "$wz" wait "$first"
run 0 "$wz" wait "$notok" "$any" "$either" "$must" "$single"
until_true is "$good" CANCELLED
until_true is "$chain" CANCELLED
reason_is "$good" DependencyNeverSatisfied || fail "good: $(field "$good" reason)"
reason_is "$chain" DependencyNeverSatisfied || fail "chain: $(field "$chain" reason)"
reason_is "$hold" DependencyNeverSatisfied || fail "hold: $(field "$hold" reason)"
run 0 "$wz" release "$hold"
run 0 "$wz" wait "$hold"
pre=$(submit --array 0-1 -- sh -c 'exit $WZ_ARRAY_INDEX')
corr=$(submit --array 0-1 --after "aftercorr:$pre" -- true)
whole=$(submit --after "afterok:$pre" -- true)
run 1 "$wz" wait "$corr"
is "${corr}_0" COMPLETED || fail "corr 0: $(state "${corr}_0")"
is "${corr}_1" CANCELLED || fail "corr 1: $(state "${corr}_1")"
until_true is "$whole" CANCELLED
ok "dependencies: each kind, over a crash, and what can never be met"

soon=$(submit --begin now+2 -- true)
is "$soon" PENDING || fail "soon: $(state "$soon")"
reason_is "$soon" BeginTime || fail "soon: $(field "$soon" reason)"
run 0 "$wz" wait "$soon"
late=$(submit --begin now+1hour -- true)
run 0 "$wz" edit "$late" begin=now
run 0 "$wz" wait "$late"
run 1 "$wz" submit --time 2h --deadline now+1hour -- true
says "cannot end by the deadline"
run 1 "$wz" submit --begin now+2hours --deadline now+1hour -- true
dead=$(submit --deadline now+2 -- sleep 100)
waits=$(submit --deadline now+2 --hold -- true)
run 1 "$wz" wait "$dead" "$waits"
reason_is "$dead" DeadLine || fail "dead: $(field "$dead" reason)"
reason_is "$waits" DeadLine || fail "waits: $(field "$waits" reason)"
ok "begin times and deadlines"

retry=$(submit --retries 2 --retry-on exit:75 --retry-delay 100ms -- sh -c 'echo "attempt $WZ_ATTEMPT"; [ "$WZ_ATTEMPT" = 3 ] || exit 75')
run 0 "$wz" wait "$retry"
run 0 "$wz" show "$retry"
prints "attempt         3"
prints "retries         2"
run 0 "$wz" logs --attempt 2 "$retry"
prints "attempt 2"
other=$(submit --retries 2 --retry-on exit:75 --retry-delay 100ms -- sh -c 'exit 74')
run 1 "$wz" wait "$other"
run 0 "$wz" show "$other"
prints "attempt         1"
tired=$(submit --retries 1 --retry-delay 1s -- false)
until_true reason_is "$tired" RetryDelay
crash
up
run 1 "$wz" wait "$tired"
run 0 "$wz" show "$tired"
prints "attempt         2"
ok "retries with a pause, over a crash; only of what was asked"

run 0 "$wz" submit --dry-run --gpus 2 --gpu-type t4 -- true
prints "it would start now on t4"
run 0 "$wz" submit --dry-run --gpus 5 -- true
prints "never"
filler=$(submit --gpus 2 --gpu-type t4 --time 1h -- sleep 1000)
until_true is "$filler" RUNNING
run 0 "$wz" submit --dry-run --json --gpus 1 --gpu-type t4 -- true
prints '"expected_start_us":'
! grep -q would_start "$out" || fail "it would not start"
run 0 "$wz" submit --dry-run --gpus 1 --gpu-type t4 -- true
prints "by the limits of what runs"
run 0 "$wz" cancel "$filler"
none_left || until_true none_left || fail "a dry run left a job: $("$wz" ps)"
ok "dry runs: where, when, or why not; nothing is left"

held=$(submit --hold --gpus 1 -- true)
run 0 "$wz" edit "$held" gpus=2 time=1h name=renamed priority=-3
run 0 "$wz" show "$held"
prints "gpus=2"
prints "time=1h"
prints "renamed"
prints "priority        -3"
run 2 "$wz" edit "$held" gpsu=2
says "did you mean gpus"
run 1 "$wz" edit "$held" gpus=many
run 1 "$wz" edit "$held" after=afterok:"$held"
says "itself"
run 0 "$wz" edit "$held" hold=false
run 0 "$wz" wait "$held"
run 4 "$wz" edit "$held" name=late
runner=$(submit -- sleep 1000)
until_true is "$runner" RUNNING
run 4 "$wz" edit "$runner" gpus=1
run 0 "$wz" edit "$runner" name=known comment=still
run 6 "$wz" wait --timeout 200ms "$runner"
quick=$(submit -- true)
run 0 "$wz" wait --any "$runner" "$quick"
run 0 "$wz" cancel "$runner"
ok "edits, and waiting with a limit"

run 0 "$wz" submit --wait --cpus 1 -- true
run 1 "$wz" submit --wait --cpus 1 --array 0-2 -- sh -c 'exit $WZ_ARRAY_INDEX'
run 9 "$wz" submit --follow -- sh -c 'echo seen; exit 9'
key=$(submit --key k9 --name mine -- true)
run 0 "$wz" submit --key k9 --name mine -- true
prints "$key"
run 4 "$wz" submit --key k9 --name mine -- false
says "belongs to an earlier submit"
ok "wait, follow, and keys that come again"

mkdir "$dir/outs"
outs=$(submit --cwd "$dir/outs" -o '%x-%A_%2a.txt' --name o --array 3-4 -- sh -c 'echo "out $WZ_ARRAY_INDEX"; echo err >&2')
run 0 "$wz" wait "$outs"
grep -q "out 4" "$dir/outs/o-${outs}_04.txt" || fail "outputs: $(ls "$dir/outs")"
grep -q "err" "$dir/outs/o-${outs}_03.txt" || fail "stderr goes with it"
fixed=$(submit --cwd "$dir/outs" -o fixed.txt -e errors.txt --retries 2 --retry-delay 100ms -- sh -c 'echo "run $WZ_ATTEMPT"; echo bad >&2; exit 1')
run 1 "$wz" wait "$fixed"
[ "$(grep -c "job $fixed task 0 attempt" "$dir/outs/fixed.txt")" = 2 ] || fail "markers: $(cat "$dir/outs/fixed.txt")"
grep -q "run 3" "$dir/outs/fixed.txt" || fail "the last attempt is there"
[ "$(grep -c bad "$dir/outs/errors.txt")" = 3 ] || fail "errors: $(cat "$dir/outs/errors.txt")"
ok "output to files of the user's, with patterns, over attempts"

PROBE=passes run 0 "$wz" run --pass 'PRO*' --env A=b -- sh -c 'echo "$PROBE $A"'
prints "passes b"
PROBE=passes run 0 "$wz" run -- sh -c 'echo "[$PROBE]"'
prints "[]"
PROBE=passes run 0 "$wz" run --env-all -- sh -c 'echo "[$PROBE]"'
prints "[passes]"
ok "what passes of the environment is chosen"

finish
