# SPDX-License-Identifier: Apache-2.0
# A daemon on an emulated cluster in a directory of its own. Source after cli/lib.sh:
#
#	up / down / crash       starts the daemon and waits until it is ready; SIGTERM; kill -9 (the daemon alone)
#	until_true WORDS...     polls a command until it succeeds, 20 s at most
#	state JOB               its state, one word
# shellcheck shell=sh disable=SC2154

state_dir=$dir/state
export WZ_SERVER="$state_dir/whalezen.sock"
export WZ_CONFIG= # not that of an installed service
unset XDG_RUNTIME_DIR
pid=

cat >"$dir/cluster.yaml" <<'YAML'
version: 1
nodes:
  - name: a100
    count: 2
    cpus: 64
    mem: 512Gi
    devices:
      - {model: NVIDIA A100-SXM4-80GB, count: 4, mem: 80Gi, link: nvlink}
  - name: t4
    cpus: 16
    mem: 64Gi
    devices:
      - {model: Tesla T4, count: 2, mem: 15Gi}
YAML

until_true() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		if [ "$tries" -gt 400 ]; then
			fail "never came true: $*"
			return 1
		fi
		sleep 0.05
	done
}

# With `cgroup=` (empty) before `up` jobs run in real cgroups, where there are any.
launch() {
	# shellcheck disable=SC2086
	"$wz" serve --state "$state_dir" --cluster "$dir/cluster.yaml" ${cgroup---no-cgroup} >>"$dir/serve.log" 2>&1 &
	pid=$!
}

is_ready() { "$wz" nodes | grep -q '^t4 *ready'; }

up() {
	launch
	until_true is_ready || sed 's/^/#   serve: /' "$dir/serve.log"
}

down() {
	kill "$pid"
	wait "$pid"
	got=$?
	[ "$got" = 0 ] || fail "wz serve ended with $got"
	pid=
}

crash() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	pid=
}

state() { "$wz" show "$1" | sed -n 's/^state  *//p'; }
is() { [ "$(state "$1")" = "$2" ]; }
submit() { "$wz" submit "$@"; }

none_left() { [ "$("$wz" ps | wc -l)" = 1 ]; }

# Leaves nothing behind: jobs are cancelled by a last daemon when a test died half-way.
clean_up() {
	[ "$failed" = 0 ] || sed 's/^/# serve: /' "$dir/serve.log"
	if [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null; then
		wait "$pid"
		echo "# the daemon had ended by itself, with $?"
		pid=
	fi
	[ -n "$pid" ] || launch
	until_true is_ready
	# shellcheck disable=SC2046
	"$wz" cancel $("$wz" ps --json | grep -o '"id":[0-9]*' | cut -d: -f2) >/dev/null 2>&1
	until_true none_left
	kill "$pid" && wait "$pid"
	rm -rf "$dir"
}
trap clean_up EXIT
