"""The file system of one workspace in a file of fixed size: the kernel then limits its bytes and files.

The file is sparse: it takes what is stored in it, and gives back what is deleted.
"""

import logging
import os
import shutil
import subprocess
import threading
from pathlib import Path

from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import mounts
from paca.sandbox.runner_bundle import UNFINISHED_PREFIX

logger = logging.getLogger(__name__)
INODE_BYTES = 256
MAX_TEMPLATE_BYTES = 16 << 20  # a template with more is not sparse on this disk
JOURNAL_MIB, SMALL_JOURNAL_MIB, SMALL_MIB = 32, 4, 512
FORMAT_SECONDS = 60
SUPERBLOCK_BYTES, EXT_MAGIC = 1024, b"\x53\xef"  # it lies behind as many bytes as it has


def prepare_template(below: Path, limits: SandboxLimits) -> Path:
    """An empty image for these limits, from which others are copied; made once for each size.

    Raises ``OSError`` if this machine cannot make one.
    """
    template = below / f"image-{limits.workspace_mib}-{limits.workspace_files}"
    if template.exists():
        return template
    unfinished = below / f"{UNFINISHED_PREFIX}{os.urandom(6).hex()}"
    unfinished.mkdir(mode=0o700)
    try:
        image = unfinished / "image"
        with image.open("xb") as file:
            file.truncate(_image_bytes(limits))
        image.chmod(0o600)
        _format(image, limits)
        if image.stat().st_blocks * 512 > MAX_TEMPLATE_BYTES:
            raise OSError("the data folder is on a file system without sparse files")
        image.rename(template)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return template


def _image_bytes(limits: SandboxLimits) -> int:
    """The size of the file, so that about ``workspace_mib`` can be stored in it."""
    usable = limits.workspace_mib << 20
    own = limits.workspace_files * INODE_BYTES + (_journal_mib(limits) << 20)
    whole = usable + usable // 100 + own + (1 << 20)
    return whole // mounts.BLOCK_BYTES * mounts.BLOCK_BYTES


def _journal_mib(limits: SandboxLimits) -> int:
    return SMALL_JOURNAL_MIB if limits.workspace_mib < SMALL_MIB else JOURNAL_MIB


def _format(image: Path, limits: SandboxLimits) -> None:
    options = [
        *("-q", "-F", "-m", "0", "-b", str(mounts.BLOCK_BYTES), "-I", str(INODE_BYTES)),
        *("-N", str(limits.workspace_files), "-J", f"size={_journal_mib(limits)}"),
        *("-O", "^resize_inode", "-E", "lazy_itable_init=1,lazy_journal_init=1"),
    ]
    _run_program("mkfs.ext4", [*options, str(image)], pass_fds=[])


class EmptyImage:
    """An empty file system in a file without a name, mounted and put on no folder yet.

    Because the file has no name, no other process finds it, and nothing is left if this one is killed.
    """

    def __init__(self, below: Path, workspaces: Path, limits: SandboxLimits) -> None:
        """Make one. ``workspaces``: the folder in which it can get a name. Raises ``OSError``."""
        self.size = _image_bytes(limits)
        self._file = self._mount = -1
        template = prepare_template(below, limits)
        self._file = os.open(workspaces, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            _copy_sparse(template, self._file)
            self._mount = mounts.open_file_system(self._file)
            os.rmdir("lost+found", dir_fd=self._mount)
            os.chmod(".", 0o700, dir_fd=self._mount)
        except BaseException:
            self.close()
            raise

    def name(self, image: Path, uid: int) -> None:
        """Give the file its name and the file system its owner: from now on it is a workspace's image.

        Raises ``OSError``.
        """
        os.chown(".", uid, uid, dir_fd=self._mount)
        folder = os.open(image.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # only with a descriptor of a folder does Python follow the link in /proc
            os.link(f"/proc/self/fd/{self._file}", image, src_dir_fd=folder)
        finally:
            os.close(folder)
        os.close(self._file)  # the lock is now that of the mount alone, and ends with it
        self._file = -1

    @property
    def folder(self) -> int:
        """The descriptor of its mount, which stays its own."""
        return self._mount

    def take_mount(self) -> int:
        """The descriptor of its mount, which the caller closes; -1 if it was taken before."""
        mount, self._mount = self._mount, -1
        return mount

    def close(self) -> None:
        """Close it. Without a name it is gone then, and otherwise its mount if that was not taken."""
        for descriptor in (self._mount, self._file):
            if descriptor >= 0:
                os.close(descriptor)
        self._mount = self._file = -1

    def __del__(self) -> None:
        self.close()


class ImageMaker:
    """Makes images for the workspaces of one worker, each a little before it is needed.

    ``below``: the folder of the templates. ``workspaces``: the folder of the images.
    """

    def __init__(self, below: Path, workspaces: Path) -> None:
        self._below = below
        self._workspaces = workspaces
        self._problem: str | None = None
        self._spare: EmptyImage | None = None
        self._lock = threading.Lock()

    def find_problem(self, limits: SandboxLimits) -> str:
        """Why workspaces cannot have images here; empty if they can. Tried once."""
        if self._problem is None:
            self._problem = self._try_image(limits)
        return self._problem

    def _try_image(self, limits: SandboxLimits) -> str:
        if os.geteuid() != 0:
            return "Paca does not run as root"
        try:
            mounts.run_in_new_thread(mounts.make_mounts_private)
            self.make_spare(limits)
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        return ""

    def take(self, limits: SandboxLimits) -> EmptyImage:
        """An empty image: the spare one if it has the right size, else a new one. Raises ``OSError``."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None and spare.size == _image_bytes(limits):
            return spare
        return EmptyImage(self._below, self._workspaces, limits)

    def make_spare(self, limits: SandboxLimits) -> None:
        """Make an image for the next new workspace, unless there is one. Raises ``OSError``."""
        with self._lock:
            if self._spare is None or self._spare.size != _image_bytes(limits):
                self._workspaces.mkdir(parents=True, exist_ok=True)
                self._spare = EmptyImage(self._below, self._workspaces, limits)

    def discard_spare(self) -> None:
        """Give up the spare image."""
        with self._lock:
            self._spare = None


def open_image(image: Path, limits: SandboxLimits) -> int:
    """Mount the image of an old workspace, and make it larger if its limit is: a descriptor of the mount.

    It never becomes smaller. Raises ``OSError``.
    """
    file = os.open(image, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        mounts.wait_for_lock(file)
        try:
            _grow(file, _image_bytes(limits))
        except (OSError, subprocess.SubprocessError):  # the files are there all the same
            logger.warning(
                "workspace stays smaller than its limit", extra={"image": image.name}, exc_info=True
            )
        return mounts.open_file_system(file)
    finally:
        os.close(file)


def _grow(file: int, size: int) -> None:
    """Make a file system larger that is not mounted, unless it has this size in bytes already.

    The file system itself says how large it is. So if a process dies after the file has become longer,
    the next start grows the file system. The program holds the lock until it ends.
    """
    superblock = os.pread(file, SUPERBLOCK_BYTES, SUPERBLOCK_BYTES)
    if len(superblock) < SUPERBLOCK_BYTES or superblock[56:58] != EXT_MAGIC:
        return  # it is damaged, which mounting it will tell
    blocks = int.from_bytes(superblock[4:8], "little")
    if blocks * mounts.BLOCK_BYTES < size:
        os.ftruncate(file, max(size, os.fstat(file).st_size))
        words = ["-f", f"/proc/self/fd/{file}", str(size // mounts.BLOCK_BYTES)]
        _run_program("resize2fs", words, pass_fds=[file])


def _run_program(name: str, words: list[str], *, pass_fds: list[int]) -> None:
    """Run a program of e2fsprogs. Raises ``OSError`` with its last words if it fails or is missing."""
    program = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise OSError(f"{name} is not installed")
    done = subprocess.run(  # noqa: S603 - no word of the command line comes from outside
        [program, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=FORMAT_SECONDS,
        pass_fds=pass_fds,
        check=False,
    )
    if done.returncode != 0:
        raise OSError(f"{name} failed: {done.stdout.decode(errors='replace').strip()[-200:]}")


def _copy_sparse(source: Path, target: int) -> None:
    """Copy only the parts of a file that hold data, to the descriptor of an empty one."""
    with source.open("rb") as reading:
        size = os.fstat(reading.fileno()).st_size
        os.ftruncate(target, size)
        place = 0
        while place < size:
            try:
                place = os.lseek(reading.fileno(), place, os.SEEK_DATA)
            except OSError:  # only holes follow
                return
            end = os.lseek(reading.fileno(), place, os.SEEK_HOLE)
            while place < end:
                data = os.pread(reading.fileno(), min(end - place, 1 << 20), place)
                os.pwrite(target, data, place)
                place += len(data)
