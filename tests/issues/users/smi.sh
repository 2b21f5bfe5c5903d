# SPDX-License-Identifier: Apache-2.0
# A stand-in for nvidia-smi with two cards, for daemons of tests. Source after serve/lib.sh: then `up` uses it.
#	$dir/cards   lines of --query-gpu (order as the driver prints it); $dir/apps   lines of --query-compute-apps
# shellcheck shell=sh disable=SC2154
mkdir -p "$dir/fake"
cat >"$dir/fake/nvidia-smi" <<'SH'
#!/bin/sh
at=${0%/fake/*}
case $1 in
--query-gpu=*) cat "$at/cards" ;;
--query-compute-apps=*) cat "$at/apps" ;;
*) exit 1 ;;
esac
SH
chmod 755 "$dir/fake/nvidia-smi"
: >"$dir/apps"
card() { echo "$1, $2, 00000000:$3:00.0, $4, 16384, 10, 1, 1, 40, 30.5, 70, 900, 900, [N/A], 0"; }
launch() {
	# shellcheck disable=SC2086
	PATH=$dir/fake:$PATH "$wz" serve --state "$state_dir" --provider nvidia-smi ${cgroup---no-cgroup} >>"$dir/serve.log" 2>&1 &
	# shellcheck disable=SC2034 # lib.sh's
	pid=$!
}
is_ready() { "$wz" nodes | grep -q ready; }
