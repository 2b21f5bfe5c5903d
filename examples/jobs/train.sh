#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A stand-in for training that loses no step: train.sh STEPS CHECKPOINT. Each step takes 0.2 s. The checkpoint is written every
# five steps and when it is asked to go (SIGUSR1 or SIGTERM; then it says so through WZ_ACK_FILE), and read at the start.
steps=$1
checkpoint=$2
step=0
[ -s "$checkpoint" ] && step=$(cat "$checkpoint")
save() {
	echo "$step" >"$checkpoint.new" && mv "$checkpoint.new" "$checkpoint"
}
leave() {
	save
	echo "told to go at step $step: saved"
	[ -z "${WZ_ACK_FILE-}" ] || : >"$WZ_ACK_FILE"
	exit 0
}
trap leave USR1 TERM
echo "attempt ${WZ_ATTEMPT-1} on ${WZ_NODE-?} devices ${CUDA_VISIBLE_DEVICES-none}: from step $step"
while [ "$step" -lt "$steps" ]; do
	sleep 0.2
	step=$((step + 1))
	[ $((step % 5)) != 0 ] || save
	echo "$step" >>"$checkpoint.steps"
done
save
echo "done: $step steps"
