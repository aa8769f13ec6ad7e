"""Programs that try to store more than a workspace may hold, each in a way that is hard to see."""

# Each stores about ``mib`` MiB, slowly enough that the sandbox can notice, says so, and keeps it for a while.
PROGRAM = """
import array, ctypes, os, signal, socket, sys, time
way, mib, seconds, fifo = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
PIECE, kept = b"x" * (4 << 20), []

def write(fd):
    view = memoryview(PIECE)
    while view:
        view = view[os.write(fd, view):]
    time.sleep(0.03)

def map_only(fd):
    libc = ctypes.CDLL(None)  # Python's own maps keep their file open
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    assert libc.mmap(None, 4096, 1, 1, fd, 0) != ctypes.c_void_p(-1).value
    os.close(fd)

def unlinked(number):
    fd = os.open(f"u{number}", os.O_RDWR | os.O_CREAT)
    os.unlink(f"u{number}")
    write(fd)
    return fd

def closed_folder(number):
    if number == 0:
        os.mkdir("closed", 0o300)
    fd = os.open(f"closed/{number}", os.O_WRONLY | os.O_CREAT)
    write(fd)
    os.close(fd)

def deep(number):
    if number == 0:
        for _ in range(60):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
    fd = os.open(f"{number}", os.O_WRONLY | os.O_CREAT)
    write(fd)
    os.close(fd)

def deep_and_closed(number):
    if number == 0:
        for _ in range(64):  # here a measurement puts a folder aside
            os.mkdir("d")
            os.chdir("d")
        kept.append(os.open(".", os.O_RDONLY))
    os.fchmod(kept[0], 0o700)
    fd = os.open(f"{number}", os.O_WRONLY | os.O_CREAT)
    os.fchmod(kept[0], 0)
    write(fd)
    os.close(fd)

def mapped(number):
    map_only(unlinked(number))

def sent(number):
    fd = unlinked(number)
    pair = socket.socketpair()
    kept.extend(pair)
    socket.send_fds(pair[0], [b"x"], [fd])
    os.close(fd)

def allocated(number):
    fd = os.open(f"a{number}", os.O_RDWR | os.O_CREAT)
    os.unlink(f"a{number}")
    os.posix_fallocate(fd, 0, len(PIECE))
    kept.append(fd)
    time.sleep(0.03)

def allocated_and_mapped(number):
    allocated(number)
    map_only(kept.pop())

def mapped_by_parent(number):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so the kernel forgets what each child has written
    fd = os.open(f"p{number}", os.O_RDWR | os.O_CREAT)
    os.unlink(f"p{number}")
    if os.fork() == 0:
        write(fd)
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass
    assert os.fstat(fd).st_size == len(PIECE), "no space"
    map_only(fd)

def hidden(number):
    if number == 0:
        import ctypes
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    unlinked(number)

ways = {"unlinked": unlinked, "closed folder": closed_folder, "deep": deep,
        "deep and closed": deep_and_closed, "mapped": mapped,
        "sent": sent, "allocated": allocated, "allocated and mapped": allocated_and_mapped,
        "mapped by parent": mapped_by_parent, "hidden": hidden}
for number in range(mib // 4):
    ways[way](number)
print("stored", flush=True)
for path in fifo:
    open(path).read()
time.sleep(seconds)
"""
WAYS = [
    "unlinked",
    "closed folder",
    "deep",
    "deep and closed",
    "mapped",
    "sent",
    "allocated",
    "allocated and mapped",
    "mapped by parent",
    "hidden",
]
# A program that nobody may read hides its open files as well.
UNREADABLE = (
    "cp /bin/bash unreadable && chmod 0111 unreadable && ./unreadable -c '"
    "exec 5> x && rm x && for i in $(seq 75); do head -c 4M /dev/zero >&5 || exit; sleep 0.03; done; "
    "echo stored; sleep 20'"
)
EMPTY_FILES = "mkdir -p many && cd many && for i in $(seq {}); do : > $i || exit; done; echo stored"


def line(way: str, mib: int, seconds: float = 0, fifo: str = "") -> str:
    """The command line that stores ``mib`` MiB in this way, then waits: for an end of ``fifo``, and in time."""
    return f"python3 - '{way}' {mib} {seconds} {fifo} <<'END'\n{PROGRAM}\nEND"
