#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Case 1: GPU 0 is not GPU 0. The driver lists cards in another order than the bus; identity is the UUID, ordinals are those of the bus.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
. "$WZ_SOURCE_ROOT/tests/issues/users/smi.sh"
map() { # which card a job gets by CUDA_VISIBLE_DEVICES when CUDA counts by the bus
	"$wz" run --gpu-type "$1" --gpus 1 -- sh -c 'echo "$CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES $WZ_GPU_UUIDS"' 2>"$err"
}
# The fast card is first by the driver, and last on the bus.
{ card 0 GPU-fast 41 "NVIDIA A100-PCIE-40GB"; card 1 GPU-slow 01 "Tesla T4"; } >"$dir/cards"
up
[ "$(map t4)" = "PCI_BUS_ID 0 GPU-slow" ] || fail "t4: $(map t4)"
[ "$(map a100)" = "PCI_BUS_ID 1 GPU-fast" ] || fail "a100: $(map a100)"
ok "ordinals are those of the bus, and the UUIDs those of the cards"
down
# After a reboot the driver lists them the other way round, and a third one is between them.
{ card 0 GPU-slow 01 "Tesla T4"; card 1 GPU-new 20 "Tesla V100-PCIE-16GB"; card 2 GPU-fast 41 "NVIDIA A100-PCIE-40GB"; } >"$dir/cards"
up
[ "$(map t4)" = "PCI_BUS_ID 0 GPU-slow" ] || fail "t4: $(map t4)"
[ "$(map v100)" = "PCI_BUS_ID 1 GPU-new" ] || fail "v100: $(map v100)"
[ "$(map a100)" = "PCI_BUS_ID 2 GPU-fast" ] || fail "a100: $(map a100)"
ok "and after the order changed"
finish
