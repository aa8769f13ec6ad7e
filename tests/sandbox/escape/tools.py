"""What attempts to escape use. Runs inside sandboxes, with no more than Python: one child for each attempt.

Usage: ``python3 tools.py attempts.json`` prints a line of JSON: for each attempt ``escaped`` or how it was held.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
HOST = json.loads(os.environ.get("ESCAPE_HOST", "{}"))
RUNNER = HOST.get("runner", 1)
IS_X86 = platform.machine() == "x86_64"
WAIT = HOST.get("wait", 0.0)  # a limit that counts may come late
SECONDS = 20.0
HELD = (errno.EPERM, errno.EACCES, errno.ENOSYS)
CALLS = {  # numbers on x86_64 and aarch64
    "pivot_root": (155, 41), "chroot": (161, 51), "mount": (165, 40), "umount2": (166, 39), "swapoff": (168, 225),
    "reboot": (169, 142), "sethostname": (170, 161), "iopl": (172, -1), "ioperm": (173, -1), "init_module": (175, 105),
    "delete_module": (176, 106), "acct": (163, 89), "settimeofday": (164, 170), "kexec_load": (246, 104), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "unshare": (272, 97), "open_by_handle_at": (304, 265), "setns": (308, 268),
    "perf_event_open": (298, 241), "fanotify_init": (300, 262), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "bpf": (321, 280), "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "open_tree": (428, 428),
    "fsopen": (430, 430), "fspick": (433, 433), "clone3": (435, 435), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "mount_setattr": (442, 442), "ptrace": (101, 117), "personality": (135, 92), "capset": (126, 91),
    "syslog": (103, 116), "clone": (56, 220), "tgkill": (234, 131), "process_madvise": (440, 440), "move_pages": (279, 239),
    "name_to_handle_at": (303, 264), "clock_adjtime": (305, 266), "rt_sigqueueinfo": (129, 138), "ioprio_set": (251, 30),
}  # fmt: skip


class Held(Exception):
    """The attempt did not succeed."""


def call(name, *arguments):
    """A system call. Raises ``OSError``."""
    number = CALLS[name][0 if IS_X86 else 1] if isinstance(name, str) else name
    words = [
        each
        if isinstance(each, (bytes, ctypes._SimpleCData, ctypes.Array)) or each is None
        else ctypes.c_long(each)
        for each in arguments
    ]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def done(*_):
    """True: it came so far."""
    return True


def reached(name, *arguments):
    """Whether the kernel has looked at the arguments: it has not refused the call itself."""
    try:
        call(name, *arguments)
    except OSError as error:
        return error.errno not in HELD
    return True


def opens(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC))
    return True


def opens_any(folder, name, flags=os.O_WRONLY):
    for root, _, files in os.walk(folder):
        if name in files and opens(os.path.join(root, name), flags):
            return True
    raise Held("no such file")


def folder():
    path = f"/tmp/escape-{os.getpid()}"
    os.makedirs(path, exist_ok=True)
    return path.encode()


def mounts(source=b"none", target=None, kind=b"tmpfs", flags=0, data=None):
    own_mounts()
    return done(call("mount", source, target or folder(), kind, flags, data))


def own_mounts():
    """Where it is allowed, attempts do not change the mounts of the others."""
    if libc.unshare(0x20000) == 0:
        libc.mount(b"none", b"/", None, ctypes.c_ulong(0x44000), None)


def overlays():
    base = folder()
    for name in (b"/l", b"/u", b"/w", b"/m"):
        os.makedirs(base + name, exist_ok=True)
    own_mounts()
    call("mount", b"none", base, b"tmpfs", 0, None)
    for name in (b"/l", b"/u", b"/w", b"/m"):
        os.makedirs(base + name, exist_ok=True)
    return mounts(
        b"overlay",
        base + b"/m",
        b"overlay",
        0,
        b"lowerdir=%s/l,upperdir=%s/u,workdir=%s/w" % (base, base, base),
    )


def unmounts():
    own_mounts()
    return done(call("umount2", b"/proc", 2))


def pivots():
    own_mounts()
    call("mount", b"none", folder(), b"tmpfs", 0, None)
    os.mkdir(folder() + b"/old")
    return done(call("pivot_root", folder(), folder() + b"/old"))


def opens_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    number = ctypes.c_int()
    root = os.open("/usr", os.O_RDONLY)
    call("name_to_handle_at", -100, b"/usr", handle, ctypes.addressof(number), 0)
    return done(call("open_by_handle_at", root, handle, 0))


def clones(flags):
    pid = call("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return done(os.waitpid(pid, 0))


def clones3(flags):
    arguments = ctypes.create_string_buffer(
        struct.pack("8Q", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    )
    pid = call("clone3", arguments, 64)
    if pid == 0:
        os._exit(0)
    return done(os.waitpid(pid, 0))


def enters(path):
    return done(call("setns", os.open(path, os.O_RDONLY), 0))


def int80(number, argument):
    """A call of a 32-bit program: a filter that looks only at numbers takes it for another one."""
    if not IS_X86:
        raise Held("x86 only")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(
        b"\x53\xb8"
        + struct.pack("i", number)
        + b"\xbb"
        + struct.pack("i", argument)
        + b"\xcd\x80\x5b\xc3"
    )
    entry = ctypes.addressof(ctypes.c_char.from_buffer(code))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(entry)()
    if result < 0:
        raise OSError(-result, "int80")
    return True


def caps(effective, inheritable=0):
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    sets = struct.pack("6I", effective, effective, inheritable, 0, 0, 0)
    return done(call("capset", header, ctypes.create_string_buffer(sets)))


def ambient(capability):
    caps(0xFFFFFFFF, 1 << capability)
    if libc.prctl(47, 2, capability, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ambient")
    return True


def becomes_root_by(program):
    """Whether a setuid program that is started by an ordinary user runs as root."""
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        if os.getuid() == 0:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        os.dup2(reading, 0)
        os.execv(program, [program])
    for _ in range(40):
        time.sleep(0.02)
        status = Path(f"/proc/{pid}/status").read_text()
        user = next(line for line in status.splitlines() if line.startswith("Uid:")).split()
        if user[2] == "0" and user[1] != "0":
            os.kill(pid, 0)
            os.close(writing)
            return True
    raise Held(status[:80])


def raises_limit(which, value):
    resource.setrlimit(which, (value, value))
    return True


def writes(path, text):
    Path(path).write_text(text)
    return True


def reads(path, wanted):
    if wanted not in Path(path).read_bytes():
        raise Held("something else")
    return True


def lists(path):
    if not os.listdir(path):
        raise Held("empty")
    return True


def kernel_addresses():
    return (
        any(
            int(line.split()[0], 16)
            for line in Path("/proc/kallsyms").read_text().splitlines()[:50]
        )
        or held()
    )


def held(why="no"):
    raise Held(why)


def makes_node(kind, major, minor):
    path = os.path.join("/tmp" if os.getuid() else os.getcwd(), f"node-{os.getpid()}")
    try:
        os.mknod(path, kind | 0o600, os.makedev(major, minor))
        return opens(path)
    finally:
        if os.path.lexists(path):
            os.unlink(path)


def opens_disk():
    names = [line.split()[3] for line in Path("/proc/partitions").read_text().splitlines()[2:]]
    return (
        any(opens(f"/dev/{name}") for name in names if not name.startswith(("ram", "loop")))
        or held()
    )


def seizes(pid):
    call("ptrace", 0x4206, pid, 0, 0)  # PTRACE_SEIZE
    return True


def memory_of(pid, name):
    where = ctypes.create_string_buffer(8)
    local = struct.pack("QQ", ctypes.addressof(where), 8)
    remote = struct.pack("QQ", 0x1000, 8)
    return reached(
        name, pid, ctypes.create_string_buffer(local), 1, ctypes.create_string_buffer(remote), 1, 0
    )


def signals_by_pidfd(pid):
    return done(call("pidfd_send_signal", call("pidfd_open", pid, 0), 0, None, 0))


def signals_by_folder(pid):
    return done(call("pidfd_send_signal", os.open(f"/proc/{pid}", os.O_DIRECTORY), 0, None, 0))


def takes_descriptor(pid):
    return reached("pidfd_getfd", call("pidfd_open", pid, 0), 0, 0)


def connects(family, address, seconds=1.0):
    with socket.socket(family) as connection:
        connection.settimeout(seconds)
        connection.connect(address)
    return True


def opens_socket(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()
    return True


def process_named(word):
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            try:
                if word in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return True
            except OSError:
                continue
    raise Held("none")


def pushes_input():
    one, other = os.openpty()
    fcntl.ioctl(other, 0x5412, b"x")
    return True


def pushes_input_into_own_terminal():
    """The terminal is its own, so only a filter refuses it: with a terminal of the host it would be an escape."""
    one, other = os.openpty()
    if not (pid := os.fork()):
        os.setsid()
        fcntl.ioctl(other, 0x540E, 0)
        try:
            fcntl.ioctl(other, 0x5412, b"x")
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0 or held()


def shared_memory(key):
    return libc.shmget(key, 0, 0) >= 0 or held()


def processes(number):
    pids = []
    try:
        for _ in range(number):
            if not (pid := os.fork()):
                signal.alarm(30)
                signal.pause()
                os._exit(0)
            pids.append(pid)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    return True


def fills(path, mib):
    """Whether so much is stored and stays so."""
    target = f"{path}/escape-fill-{os.getpid()}"
    try:
        with open(target, "wb", buffering=0) as file:
            for _ in range(mib):
                if file.write(b"x" * (1 << 20)) < 1 << 20:
                    raise Held("full")
            os.fsync(file.fileno())
            time.sleep(WAIT)
            return True
    finally:
        os.unlink(target)


def fills_without_a_name(path, mib):
    descriptor = os.open(path, os.O_TMPFILE | os.O_RDWR)
    for _ in range(mib):
        if os.write(descriptor, b"x" * (1 << 20)) < 1 << 20:
            raise Held("full")
    time.sleep(WAIT)
    return True


def allocates_space(path, mib):
    with open(f"{path}/escape-space-{os.getpid()}", "wb") as file:
        os.unlink(file.name)
        os.posix_fallocate(file.fileno(), 0, mib << 20)
        time.sleep(WAIT)
    return True


def many_files(path, number):
    base = f"{path}/escape-files-{os.getpid()}"
    os.mkdir(base)
    try:
        for each in range(number):
            os.close(os.open(f"{base}/{each}", os.O_CREAT | os.O_WRONLY))
        time.sleep(WAIT)
    finally:
        for name in os.listdir(base):
            os.unlink(f"{base}/{name}")
        os.rmdir(base)
    return True


def memory(mib):
    held_memory = bytearray(mib << 20)
    for at in range(0, len(held_memory), 4096):
        held_memory[at] = 1
    time.sleep(WAIT)
    return True


def memory_in_files(mib):
    descriptor = os.memfd_create("x")
    for _ in range(mib):
        os.write(descriptor, b"x" * (1 << 20))
    time.sleep(WAIT)
    return True


def descriptors(number):
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(number)]
    for each in opened:
        os.close(each)
    return True


# --- running them -----------------------------------------------------------------------------------


def attempt(code):
    """``escaped``, or how it was held, of one attempt in a child."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.setsid()
        try:
            text = "escaped" if eval(code) else "held: it gave nothing"
        except BaseException as error:
            text = f"held: {type(error).__name__}: {error}"[:200]
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    ready = select.select([reading], [], [], SECONDS)[0]
    text = os.read(reading, 300).decode() if ready else ""
    os.close(reading)
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass
    os.waitpid(pid, 0)
    return text or "held: it did not end by itself"


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text())
    print("\nRESULT " + json.dumps({name: attempt(code) for name, code in given.items()}))
