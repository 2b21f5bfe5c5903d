#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 28: it ran tomorrow's code. With a snapshot each attempt sees the code as it was at the submit, in a checkout of its own.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"

command -v git >/dev/null || { skip "snapshots" "git is not here"; finish; }
up
repo=$dir/repo
mkdir -p "$repo/sub" && cd "$repo" || exit 99
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q . && echo committed >train.txt && echo ignored.txt >.gitignore && echo sub >sub/s.txt && git add . && git commit -qm one
before=$(git status --porcelain; git rev-parse HEAD; git ls-files -s)
echo modified >train.txt
echo new >untracked.txt
echo never >ignored.txt
body='cat ../train.txt; ls ..; echo scribble >../train.txt; [ "$WZ_ATTEMPT" = 2 ]'
job=$(cd sub && submit --hold --snapshot git --retries 1 --retry-delay 100ms -- sh -c "$body")
all=$(submit --hold --snapshot git --untracked -- ls)
echo tomorrow >train.txt
run 0 "$wz" release "$job" "$all"
run 0 "$wz" wait "$job" "$all"
for attempt in 1 2; do
	run 0 "$wz" logs --attempt $attempt "$job"
	prints modified
	! grep -q -e tomorrow -e scribble -e untracked -e ignored "$out" || fail "attempt $attempt: $(cat "$out")"
done
run 0 "$wz" logs "$all"
prints untracked.txt
! grep -q ignored "$out" || fail "ignored files came along"
run 0 "$wz" show --json "$job"
prints "$(git rev-parse HEAD)-dirty"
git checkout -q train.txt && rm untracked.txt
[ "$(git status --porcelain; git rev-parse HEAD; git ls-files -s)" = "$before" ] || fail "the repository was changed"
[ "$(cat train.txt)" = committed ] || fail "the tree was changed"
ok "git: commit and changes of the submit, for each attempt; the repository is left alone"

n=$(find "$state_dir/snapshots" -type f | wc -l)
one=$(submit --snapshot git -- cat train.txt)
two=$(submit --snapshot git -- cat train.txt)
run 0 "$wz" wait "$one" "$two"
run 0 "$wz" logs "$two"
prints committed
[ "$(($(find "$state_dir/snapshots" -type f | wc -l) - n))" = 1 ] || fail "the same tree is kept twice"
[ "$(find "$state_dir/snapshots" -type f -printf '%m\n' | sort -u)" = 400 ] || fail "modes"
copy=$(submit --snapshot copy -- cat train.txt ignored.txt)
run 0 "$wz" wait "$copy"
run 0 "$wz" logs "$copy"
prints never
printf '#!/bin/sh\ncat train.txt; echo "script $1"\n' >"$dir/s.sh"
run 0 "$wz" run --snapshot git --script "$dir/s.sh" arg
prints "script arg"
mkdir "$dir/plain" && cd "$dir/plain" || exit 99
run 1 "$wz" submit --snapshot git -- true
says "no git repository"
python3 -c 'open("big.bin", "wb").truncate(300 << 20)'
run 1 "$wz" submit --snapshot copy -- true
says "256 MiB"
rm big.bin
run 1 "$wz" submit --profile 'gpus=many' --snapshot copy -- true
ok "the same code is kept once; copies; limits"
finish
