#!/bin/sh
# Run tests as root on a kernel with control groups of version 2, on a machine that has none: in user-mode Linux.
# It reads the files of this machine and writes to memory only. Debian: user-mode-linux, busybox-static, cpio, util-linux.
#   scripts/cgroup2_tests.sh tests/sandbox/test_unprivileged.py
set -eu
[ "$(id -u)" = 0 ] || { echo "run this as root: a sandbox without root reads files of several users"; exit 2; }
repository=$(cd "$(dirname "$0")/.." && pwd)
kernel=${KERNEL:-$(command -v linux.uml)} modules=${MODULES:-/usr/lib/uml/modules} busybox=${BUSYBOX:-/bin/busybox}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/files/bin"
cp "$busybox" "$work/files/bin/busybox"
find "$modules" \( -name overlay.ko -o -name loop.ko \) -exec cp {} "$work/files" \;
cat > "$work/files/init" << INIT
#!/bin/busybox sh
b=/bin/busybox
\$b mkdir -p /proc /dev /lower /memory /new
\$b mount -t proc proc /proc && \$b mount -t devtmpfs dev /dev
\$b insmod /overlay.ko && \$b insmod /loop.ko
\$b mount -t hostfs -o ro,/ host /lower && \$b mount -t tmpfs memory /memory && \$b mkdir /memory/up /memory/work
\$b mount -t overlay -o lowerdir=/lower,upperdir=/memory/up,workdir=/memory/work over /new
\$b mount --move /memory /new/mnt && \$b mount --move /dev /new/dev && \$b umount /proc
exec \$b switch_root /new /bin/sh /mnt/run
INIT
sed -i 's|^exec|/bin/busybox cp /run-tests /new/mnt/run; exec|' "$work/files/init"
cat > "$work/files/run-tests" << RUN
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t cgroup2 groups /sys/fs/cgroup; dmesg -n 1
mkdir -p /dev/pts /dev/shm; mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd; mkdir -m 1777 /mnt/tmp; export TMPDIR=/mnt/tmp PATH=$PATH HOME=/root
cd "$repository"; PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest -p no:cacheprovider -m "not docker" $*
echo "tests ended with \$?"
echo o > /proc/sysrq-trigger; sleep 60
RUN
chmod +x "$work/files/init"
(cd "$work/files" && find . | cpio -o -H newc 2> /dev/null | gzip -1 > "$work/initrd")
# It hands over between processes all the time, which is quick on one core only.
taskset -c "${CORE:-0}" "$kernel" mem="${MEMORY:-2500M}" initrd="$work/initrd" root=/dev/ram0 rdinit=/init con=null \
    con0=fd:0,fd:1 loglevel=3 < /dev/null | tee "$work/log"
grep -q "tests ended with 0" "$work/log"
