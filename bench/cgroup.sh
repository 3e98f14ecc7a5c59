# shellcheck shell=bash disable=SC2034,SC2154
#
# bench/cgroup.sh: a memory cgroup (v1 or v2) for a server, and disks of its own, for bench/split, bench/value,
# bench/memory and bench/carry-over, on top of bench/lib.sh and bench/workloads.sh. Expects "limit" to be the memory of the
# cgroup in MB. Must be run by root.

packages+=("/usr/sbin/losetup mount" "/usr/sbin/mkfs.ext4 e2fsprogs")
is_root || die "must be run by root, because it makes a memory cgroup and loop devices"
# The devices are mounted where nobody else sees them, so that they disappear with the script, however it ends.
[ -n "${PGBUFPROBE_UNSHARED:-}" ] || exec env PGBUFPROBE_UNSHARED=1 unshare --mount "$0"

before_removal=remove_group_and_disks
groups='' group='' group_before='' made=0 data_device='' throttled=''

machine_line() {
	say "$("$bin/postgres" --version), $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, Linux $(uname -r), limit $limit MB, $*"
}

# This script's cgroup of a controller of version 1.
present_group() {
	local top path
	top=$(findmnt -n -t cgroup -O "$1" -o TARGET | head -n 1) || :
	[ -n "$top" ] || return 0
	path=$(awk -F : -v name="$1" '$2 ~ "(^|,)" name "(,|$)" { print $3 }' /proc/self/cgroup)
	[ -d "$top$path" ] && echo "$top$path" || echo "$top"
}

# Finds where cgroups are made: below the root, because a child of the present one could have a tighter limit above it.
find_groups() {
	local top version path
	top=$(findmnt -n -t cgroup -O memory -o TARGET | head -n 1) || :
	version=1
	if [ -z "$top" ]; then
		version=2
		top=$(findmnt -n -t cgroup2 -o TARGET | head -n 1) || :
		[ -n "$top" ] || die "this machine has no memory cgroups"
		echo +memory >"$top/cgroup.subtree_control" || die "the memory controller is unavailable in $top"
	fi
	path=$(awk -F : -v v=$version '(v == 2 && $1 == 0) || (v == 1 && $2 ~ /(^|,)memory(,|$)/) { print $3 }' /proc/self/cgroup)
	group_before=$top$path
	[ -d "$group_before" ] || group_before=$top
	groups=$top/${work##*/}
	progress "memory cgroups v$version of $limit MB"
}

# Makes a cgroup, and removes the last one with all that it has cached. The kernel would go on with the order of its pages,
# and would take what comes back soon after it was evicted for active.
new_group() {
	[ -z "$group" ] || remove_group
	group=$groups.$((++made))
	mkdir "$group"
	if [ -e "$group/memory.limit_in_bytes" ]; then
		echo 0 >"$group/memory.swappiness"
		echo $((limit << 20)) >"$group/memory.limit_in_bytes"
	else
		[ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
		echo $((limit << 20)) >"$group/memory.max"
	fi
}

remove_group() {
	if [ -e "$group/memory.force_empty" ]; then
		echo 0 >"$group/memory.force_empty"
	else
		memory_used | awk '{ printf "%.0f\n", $1 * 1048576 }' >"$group/memory.reclaim"
	fi 2>/dev/null || :
	for _ in {1..50}; do
		rmdir "$group" 2>/dev/null && return
		sleep 0.1
	done
}

# Runs a command in the cgroup, which its processes inherit. The cgroup does not limit huge pages.
in_group() {
	echo $$ >"$group/cgroup.procs"
	"$@"
	echo $$ >"$group_before/cgroup.procs"
}

# Prints how many MB of the limit are in use.
memory_used() {
	local file=$group/memory.usage_in_bytes
	[ -e "$file" ] || file=$group/memory.current
	awk '{ printf "%.1f\n", $1 / 1048576 }' "$file"
}

check_disk() {
	local file_system
	file_system=$(stat -f -c %T "$work")
	[[ ! $file_system =~ ^(tmpfs|overlayfs)$ ]] || die "$work is on $file_system; choose a TMPDIR on a disk"
}

# Makes a device of so many MB with a file system, mounts it there, and prints the device. Its file has no name any
# more, and the device is freed when it is unmounted. Without discards, the file keeps its space.
make_disk() {
	local mount=$1 device
	fallocate -l "$2M" "$mount.disk"
	device=$(losetup -f --show --direct-io=on "$mount.disk")
	rm "$mount.disk"
	mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$device" >&2
	mkdir "$mount"
	mount -o noatime "$device" "$mount"
	losetup -d "$device"
	rmdir "$mount/lost+found"
	chown postgres:postgres "$mount"
	chmod 700 "$mount"
	echo "$device"
}

# Sets the readahead of files that are opened from now on, in kB, on the data's device or the one given.
set_readahead() { blockdev --setra $((2 * $1)) "${2:-$data_device}"; }

# Limits the reads, and the writes, of the data device to so many MB and operations per second. Fails if this machine
# cannot. With cgroups v1, the limit is that of this script's group, which is also that of the kernel's writers if it is the root.
throttle() {
	local numbers bytes=$(($1 << 20)) blkio
	numbers=$(cat "/sys/block/${data_device##*/}/dev")
	if [ -e "$group/memory.max" ]; then
		echo +io >"${group%/*}/cgroup.subtree_control" || return 1
		throttled=$group/io.max
		echo "$numbers rbps=$bytes wbps=$bytes riops=$2 wiops=$2" >"$throttled"
	else
		blkio=$(present_group blkio)
		[ -e "$blkio/blkio.throttle.read_bps_device" ] || return 1
		throttled=$blkio/blkio.throttle
		limit_v1 "$numbers" "$bytes" "$2"
	fi 2>/dev/null
}

# Without numbers that limit, the limits are removed.
limit_v1() {
	local what
	for what in read write; do
		echo "$1 $2" >"$throttled.${what}_bps_device"
		echo "$1 $3" >"$throttled.${what}_iops_device"
	done
}

unthrottle() {
	local numbers
	[ -n "$throttled" ] || return 0
	numbers=$(cat "/sys/block/${data_device##*/}/dev")
	case $throttled in
		*/io.max) echo "$numbers rbps=max wbps=max riops=max wiops=max" >"$throttled" ;;
		*) limit_v1 "$numbers" 0 0 ;;
	esac
	throttled=
}

remove_group_and_disks() {
	local mount
	set +e
	[ -z "$group_before" ] || echo $$ >"$group_before/cgroup.procs"
	unthrottle
	for mount in "${work:-/nonexistent}"/*/; do
		! mountpoint -q "$mount" || umount "$mount"
	done
	[ ! -d "${group:-/nonexistent}" ] || remove_group
}
