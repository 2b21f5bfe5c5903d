#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What was: history, report, top; the journal as lines, and its proof.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

up
me=$(id -un)
good=$(submit --gpus 2 --gpu-type a100 --name good -- sleep 1)
failing=$(submit --gpu-share 50% --gpu-type t4 --name bad -- sh -c 'sleep 1; exit 3')
gone=$(submit --hold --name gone -- true)
run 0 "$wz" cancel "$gone"
run 1 "$wz" wait "$good" "$failing"
runs=$(submit --gpus 1 --gpu-type t4 --name runs -- sleep 1000)
until_true is "$runs" RUNNING

run 0 "$wz" history
prints good
prints bad
prints gone
! grep -q runs "$out" || fail "what runs is history"
[ "$(tail -1 "$out" | awk '{ print $1 }')" = "$(printf '%s\n' "$good" "$failing" "$gone" | sort -n | tail -1)" ] || fail "the newest is not last"
run 0 "$wz" history --state FAILED --json
prints '"name":"bad"'
[ "$(grep -c '"id"' "$out")" = 1 ] || fail "failed ones: $(cat "$out")"
run 0 "$wz" history --node t4 --jsonl
prints '"name":"bad"'
[ "$(wc -l <"$out")" = 1 ] || fail "on t4: $(cat "$out")"
run 0 "$wz" history --limit 1
[ "$(wc -l <"$out")" = 2 ] || fail "limit: $(cat "$out")"
run 0 "$wz" history --last 1s --name good
sleep 1.1
run 0 "$wz" history --last 1s
! grep -q good "$out" || fail "what ended earlier is shown"
ok "history: filters, order, limits"

run 0 "$wz" report --csv
head -1 "$out" | grep -qx 'user,jobs,completed,failed,cancelled,gpu_s,completed_gpu_s,cpu_s,wait_p50_s,wait_p95_s' || fail "head: $(head -1 "$out")"
row=$(grep "^$me," "$out")
echo "# $row"
[ "$(echo "$row" | cut -d, -f2-5)" = 4,1,1,1 ] || fail "counts: $row"
useful=$(echo "$row" | cut -d, -f7)
case $useful in 2 | 3 | 4) ;; *) fail "two devices for a second are $useful seconds" ;; esac
run 0 "$wz" report --by state
prints COMPLETED
prints CANCELLED
run 0 "$wz" report --by model --json
prints '"key":"A100-SXM4-80GB"'
prints '"completed_device_us":2'
run 0 "$wz" report --by day
prints "$(date +%Y-%m-%d)"
run 0 "$wz" report --user nobody
[ "$(wc -l <"$out")" = 1 ] || fail "of nobody: $(cat "$out")"
run 1 "$wz" report --by colour
says "by"
ok "report: counts, device seconds, by state, model and day"

run 0 "$wz" top
prints "busy"
prints "A100-SXM4-80GB"
prints runs
run 0 "$wz" top --json
python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert d["info"]["devices"]==10 and len(d["devices"])==10 and d["jobs"]' "$out" || fail "top --json"
python3 "$WZ_SOURCE_ROOT/tests/serve/type.py" --size 40x120 'see:?1049h' 'see:A100' 'see:runs' 'see:q: leave' 'type:q' 'see:?1049l' -- "$wz" top --every 200ms >"$dir/screen" || fail "top on a terminal: $(tail -c 300 "$dir/screen")"
ok "top: plain, JSON, and on a terminal"

run 0 "$wz" trace verify --state "$state_dir"
prints "digests equal"
run 0 "$wz" trace verify --state "$state_dir" --json
prints '"unverified":0'
run 0 "$wz" trace export --state "$state_dir"
python3 - "$out" <<'PY' || fail "export"
import json, sys
seq = 0
kinds = {"event": 0, "effect": 0, "note": 0}
for line in open(sys.argv[1]):
    r = json.loads(line)
    assert r["seq"] == seq + 1, (r["seq"], seq)
    seq = r["seq"]
    kinds[r["kind"]] += 1
assert all(kinds.values()), kinds
PY
cp "$out" "$dir/all"
run 0 "$wz" trace export --state "$state_dir" --from 10
head -1 "$out" | grep -q '^{"seq":10,' || fail "from 10: $(head -1 "$out")"
run 0 "$wz" cancel "$runs"
run 1 "$wz" wait "$runs"
down
python3 - "$state_dir/store.db" <<'PY'
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("update journal set digest = digest + 1 where seq = (select max(seq) from journal where digest is not null)")
c.commit()
PY
run 1 "$wz" trace verify --state "$state_dir"
says "record"
python3 - "$state_dir/store.db" <<'PY'
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("update journal set digest = digest - 1 where seq = (select max(seq) from journal where digest is not null)")
c.commit()
PY
ok "the journal as lines; its digests are proved, and one that is wrong is found"
up
run 0 "$wz" trace workload --state "$state_dir" --out "$dir/mine.wz"
grep -q '^node t4 ' "$dir/mine.wz" || fail "no nodes: $(cat "$dir/mine.wz")"
grep -q "^job j$good submit=.* start=.* run=.* user=$me .*template=good : gpus=2" "$dir/mine.wz" || fail "no job: $(cat "$dir/mine.wz")"
grep -q "^job j$gone " "$dir/mine.wz" && fail "what never ran has a length"
run 0 "$wz" trace check "$dir/mine.wz"
run 0 "$wz" sim run --trace "$dir/mine.wz" --order fifo --jsonl
prints '"finished":'
run 0 "$wz" sim run --trace "$dir/mine.wz" --order levelled --cluster 8x8 --jsonl
ok "what was run is a trace that the simulator replays under another order and cluster"

finish
