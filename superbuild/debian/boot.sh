#!/usr/bin/env bash
# The first process of a Debian in namespaces of its own (machine.sh): makes ROOT the root, and
# becomes systemd.
#
#   boot.sh ROOT
set -euo pipefail
root=${1:?usage: boot.sh ROOT}
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for device in null zero full random urandom tty fuse; do
  [ -e "/dev/$device" ] || continue
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -p "$root/.old"
cd "$root"
pivot_root . .old
umount -l /.old
exec env -i container=sluice PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
