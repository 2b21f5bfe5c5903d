#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 5: zero devices are zero devices, and no word about devices is zero too.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
up
for how in "--gpus 0" ""; do
	# shellcheck disable=SC2086
	run 0 "$wz" run $how -- sh -c 'echo "[${CUDA_VISIBLE_DEVICES-unset}] $WZ_GPUS"'
	prints "[] 0"
done
CUDA_VISIBLE_DEVICES=0,1 CUDA_DEVICE_ORDER=FASTEST_FIRST run 0 "$wz" run -- sh -c 'echo "[$CUDA_VISIBLE_DEVICES] $CUDA_DEVICE_ORDER"'
prints "[] PCI_BUS_ID"
ok "a job without devices sees none, whatever its submitter had set"
finish
