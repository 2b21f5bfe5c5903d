#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs in container images: what podman and apptainer are told (stand-ins that check and obey), and podman itself.
# shellcheck disable=SC1091,SC2154,SC2016,SC2317
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"
. "$WZ_SOURCE_ROOT/tests/serve/lib.sh"
last_job() { "$wz" ps --all --json | grep -o '"id":[0-9]*' | tail -1 | cut -d: -f2; }

mkdir "$dir/bin"
cat >"$dir/bin/podman" <<'SH'
#!/bin/bash
# Understands what the agent says, as podman(1) does, and runs the command here with the environment a container would
# have; anything else is refused.
[ "$1" = run ] || exit 125
shift
printf '%s\n' "$@" >"${0%/bin/podman}/podman.args"
env=(PATH=/image/bin:/usr/bin:/bin HOME=/image)
while :; do
	case $1 in
	--rm | --replace | --interactive | --tty | --userns=keep-id | --cgroups=disabled | --sig-proxy=false) shift ;;
	--name=wz-* | --network=host | --ipc=host | --security-opt=label=disable) shift ;;
	--device=nvidia.com/gpu=*) shift ;;
	--volume) [ -d "${2%%:*}" ] || exit 125; shift 2 ;;
	--workdir=*) dir=${1#--workdir=}; shift ;;
	--env=*=*) exit 125 ;; # a value in a command line
	--env=*) n=${1#--env=}; env+=("$n=${!n}"); shift ;;
	-*) echo "podman: unknown flag: $1" >&2; exit 125 ;;
	*) break ;;
	esac
done
case $1 in
docker.io/library/python:3 | localhost/*) shift ;;
*) echo "Error: $1: image not known" >&2; exit 125 ;;
esac
cd "$dir" && exec env -i "${env[@]}" "$@"
SH
cat >"$dir/bin/apptainer" <<'SH'
#!/bin/sh
[ "$1" = exec ] || exit 255
shift
printf '%s\n' "$@" >"${0%/bin/apptainer}/apptainer.args"
while :; do
	case $1 in
	--nv) shift ;;
	--bind) [ -d "${2%%:*}" ] || exit 255; shift 2 ;;
	--pwd) cd "$2" || exit 255; shift 2 ;;
	-*) exit 255 ;;
	*) break ;;
	esac
done
[ -f "$1" ] || { echo "FATAL: could not open image $1" >&2; exit 255; }
shift
exec "$@"
SH
chmod +x "$dir"/bin/*
was=$PATH
PATH=$dir/bin:$PATH
up
PATH=$was
HF_TOKEN=secret-value
export HF_TOKEN
mkdir "$dir/work"
run 6 "$wz" run --cwd "$dir/work" --gpus 2 --gpu-type a100 --image docker.io/library/python:3 -- \
	sh -c 'echo "in $PWD home $HOME devices $CUDA_VISIBLE_DEVICES job $WZ_JOB_ID"; [ -e "$WZ_RUN_DIR" ] && exit 6'
prints "in $dir/work home /image devices 0,1 job"
args() { grep -qxF -- "$1" "$dir/podman.args" || fail "podman was not told $1"; }
args "--name=wz-$(last_job).0.1"
args --cgroups=disabled
args "--workdir=$dir/work"
args "$dir/work:$dir/work"
args --env=CUDA_VISIBLE_DEVICES
! grep -q '^--device' "$dir/podman.args" || fail "an emulated device is given to podman"
! grep -q '^--env=\(PATH\|HOME\)$' "$dir/podman.args" || fail "the image's own PATH is replaced"
run 125 "$wz" run --image no-such-image -- true
prints "image not known"
run 125 "$wz" run --image=--privileged -- true
says LAUNCH_FAILED
says BadImage
ok "podman: what it is told, the command's code, an image that is not there, one that is an option"

echo image >"$dir/x.sif"
run 5 "$wz" run --cwd "$dir/work" --gpus 1 --gpu-type t4 --image "$dir/x.sif" -- sh -c 'echo "$PWD $CUDA_VISIBLE_DEVICES"; exit 5'
prints "$dir/work"
! grep -qx -- --nv "$dir/apptainer.args" || fail "--nv for an emulated device"
grep -qx -- "$dir/work:$dir/work" "$dir/apptainer.args" || fail "apptainer does not see the directory"
stop=$(submit --image localhost/x -- sh -c 'trap "" TERM; sleep 1000')
until_true is "$stop" RUNNING
run 0 "$wz" signal "$stop" KILL
run 1 "$wz" wait "$stop"
ok "apptainer, for an image that is a file"
down
mkdir "$dir/empty"
PATH=$dir/empty "$(command -v env)" -i PATH="$dir/empty" "$wz" serve --state "$state_dir" --cluster "$dir/cluster.yaml" --no-cgroup >>"$dir/serve.log" 2>&1 &
pid=$!
until_true is_ready
run 125 "$wz" run --image x -- true
says "neither podman nor apptainer"
ok "no runtime: said so"
down

# podman itself. crun refuses a machine that has cgroups of both versions, and one where it may not raise limits: in a
# mount namespace of its own the daemon has version 1 alone and a configuration that asks for no more than there is.
have() { command -v "$1" >/dev/null 2>&1; }
if [ "$(id -u)" != 0 ] || ! have podman || ! have crun || ! [ -x /bin/busybox ]; then
	skip "podman itself" "needs root, podman, crun and busybox-static"
	finish
fi
mkdir -p "$dir/rootfs/bin" "$dir/rootfs/etc" "$dir/rootfs/tmp" "$dir/containers"
cp /bin/busybox "$dir/rootfs/bin/"
for n in sh echo cat sleep id true; do ln -s busybox "$dir/rootfs/bin/$n"; done
echo 'root:x:0:0::/:/bin/sh' >"$dir/rootfs/etc/passwd"
tar -C "$dir/rootfs" -cf "$dir/rootfs.tar" .
cp -r /etc/containers/. "$dir/containers/"
files=$(awk '/^Max open files/ { print $4 }' /proc/self/limits)
printf '[containers]\ndefault_ulimits = ["nofile=%s:%s","nproc=1000:1000"]\n' "$files" "$files" >"$dir/containers/containers.conf"
launch() {
	unshare -m sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; mount --bind "$1/containers" /etc/containers && shift &&
		exec "$@"' sh "$dir" "$wz" serve --state "$state_dir" --cluster "$dir/cluster.yaml" >>"$dir/serve.log" 2>&1 &
	# shellcheck disable=SC2034 # lib.sh's
	pid=$!
}
image=localhost/wz-test-$$
if ! podman import -q "$dir/rootfs.tar" "$image" >"$dir/import.txt" 2>&1; then
	skip "podman itself" "$(tail -1 "$dir/import.txt")"
	finish
fi
up
if ! "$wz" run --image "$image" -- true >"$out" 2>"$err"; then
	skip "podman itself" "it does not run here: $(tail -1 "$out")"
else
	run 7 "$wz" run --cwd "$dir/work" --mem 256Mi --image "$image" -- sh -c \
		'cat /etc/passwd; echo made >made; echo "job $WZ_JOB_ID"; cat /proc/self/cgroup; exit 7'
	prints 'root:x:0:0::/:/bin/sh'
	[ "$(cat "$dir/work/made")" = made ] || fail "the working directory is not shared"
	grep -q ":memory:.*whalezen.*/$(last_job)\.0\.1" "$out" || fail "it is not in the attempt's cgroup: $(cat "$out")"
	held=$(submit --image "$image" -- sh -c 'trap "" TERM; echo up; sleep 1000')
	until_true sh -c "'$wz' logs $held | grep -q up"
	[ "$(podman ps --format '{{.Names}}' | grep -c "^wz-$held")" -le 1 ] || fail "containers: $(podman ps)"
	"$wz" show --json "$held" >"$out"
	run 0 "$wz" signal "$held" KILL
	run 1 "$wz" wait "$held"
	! pgrep -f "name=wz-$held\." >"$out" || fail "left: $(cat "$out")"
	ok "podman itself: in the attempt's cgroup, on the working directory, gone when it ends"
fi
down
podman rmi -f "$image" >/dev/null 2>&1
finish
