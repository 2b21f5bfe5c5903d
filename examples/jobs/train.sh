#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A stand-in for training that loses no step: train.sh STEPS CHECKPOINT. Each step takes 0.2 s. The checkpoint is written every
# five steps and is read at the start. Asked to make room (SIGUSR1), it saves, says so through WZ_ACK_FILE, and waits to be
# stopped; told to end (SIGTERM), it saves and ends.
steps=$1
checkpoint=$2
step=0
asked=
[ -s "$checkpoint" ] && step=$(cat "$checkpoint")
save() {
	echo "$step" >"$checkpoint.new" && mv "$checkpoint.new" "$checkpoint"
}
trap 'asked=1' USR1
trap 'save; exit 143' TERM
echo "attempt ${WZ_ATTEMPT-1} on ${WZ_NODE-?} devices ${CUDA_VISIBLE_DEVICES-none}: from step $step"
while [ "$step" -lt "$steps" ]; do
	sleep 0.2
	if [ -n "$asked" ]; then
		save
		echo "asked to make room at step $step: saved"
		[ -z "${WZ_ACK_FILE-}" ] || : >"$WZ_ACK_FILE"
		while :; do sleep 0.1; done
	fi
	step=$((step + 1))
	echo "$step" >>"$checkpoint.steps"
	[ $((step % 5)) != 0 ] || save
done
save
echo "done: $step steps"
