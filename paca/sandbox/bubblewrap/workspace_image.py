"""The file system of one workspace in a file of fixed size: the kernel then limits its bytes and files.

The file is sparse: it takes what is stored in it, and gives back what is deleted.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import mounts
from paca.sandbox.runner_bundle import UNFINISHED_PREFIX

INODE_BYTES = 256
MAX_TEMPLATE_BYTES = 16 << 20  # a template with more is not sparse on this disk
JOURNAL_MIB, SMALL_JOURNAL_MIB, SMALL_MIB = 32, 4, 512
FORMAT_SECONDS = 60
NEVER_USED = "new"  # the end of the name of an image until it is mounted for the first time


def prepare_template(below: Path, limits: SandboxLimits) -> Path:
    """An empty image for these limits, from which others are copied; made once for each size.

    Raises ``OSError`` if this machine cannot make one.
    """
    template = below / f"image-{limits.workspace_mib}-{limits.workspace_files}"
    if template.exists():
        return template
    program = shutil.which("mkfs.ext4", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise OSError("mkfs.ext4 is not installed")
    unfinished = below / f"{UNFINISHED_PREFIX}{os.urandom(6).hex()}"
    unfinished.mkdir(mode=0o700)
    try:
        image = unfinished / "image"
        with image.open("xb") as file:
            file.truncate(_image_bytes(limits))
        image.chmod(0o600)
        _format(program, image, limits)
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


def _format(program: str, image: Path, limits: SandboxLimits) -> None:
    options = [
        *("-q", "-F", "-m", "0", "-b", str(mounts.BLOCK_BYTES), "-I", str(INODE_BYTES)),
        *("-N", str(limits.workspace_files), "-J", f"size={_journal_mib(limits)}"),
        *("-O", "^resize_inode", "-E", "lazy_itable_init=1,lazy_journal_init=1"),
    ]
    done = subprocess.run(  # noqa: S603 - no word of the command line comes from outside
        [program, *options, str(image)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=FORMAT_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise OSError(f"mkfs.ext4 failed: {done.stdout.decode(errors='replace').strip()[-200:]}")


def find_problem(below: Path, limits: SandboxLimits) -> str:
    """Why workspaces cannot have images here; empty if one could be made, mounted and removed just now."""
    if os.geteuid() != 0:
        return "Paca does not run as root"
    try:
        _try_image(below, limits)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


def _try_image(below: Path, limits: SandboxLimits) -> None:
    folder = below / f"{UNFINISHED_PREFIX}{os.urandom(6).hex()}"
    folder.mkdir(mode=0o700)
    image, place = folder / "trial.img", folder / "trial"
    place.mkdir()
    try:
        create_image(image, prepare_template(below, limits))
        mounts.run_with_private_mounts(lambda: mount_workspace(image, place, os.geteuid()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def create_image(image: Path, template: Path) -> None:
    """Make an image that was never used, as a copy of the template. Raises ``OSError``."""
    fresh = image.with_suffix(f".{NEVER_USED}")
    fresh.unlink(missing_ok=True)  # it may still be mounted by a sandbox that is ending
    _copy_sparse(template, fresh)


def find(image: Path) -> Path | None:
    """The file of a workspace's image, used or not; None if the workspace has none."""
    names = (image, image.with_suffix(f".{NEVER_USED}"))
    return next((path for path in names if path.exists()), None)


def mount_workspace(image: Path, folder: Path, uid: int) -> None:
    """Mount a workspace's image on its folder, for this mount namespace alone. Raises ``OSError``.

    An image gets its final name when it is ready for use. So an image that a killed process left
    half-made is made again.
    """
    fresh = image.with_suffix(f".{NEVER_USED}")
    if image.exists():
        mounts.mount_image(image, folder)
        return
    mounts.mount_image(fresh, folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            os.rmdir("lost+found", dir_fd=descriptor)
        os.fchown(descriptor, uid, uid)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)
    fresh.rename(image)


def remove_image(image: Path) -> None:
    """Remove a workspace's image. A sandbox that is still ending keeps its space until it is gone."""
    for path in (image, image.with_suffix(f".{NEVER_USED}")):
        path.unlink(missing_ok=True)


def _copy_sparse(source: Path, target: Path) -> None:
    """Copy only the parts of a file that hold data."""
    with source.open("rb") as reading, target.open("xb") as writing:
        os.fchmod(writing.fileno(), 0o600)
        size = os.fstat(reading.fileno()).st_size
        os.ftruncate(writing.fileno(), size)
        place = 0
        while place < size:
            try:
                place = os.lseek(reading.fileno(), place, os.SEEK_DATA)
            except OSError:  # only holes follow
                return
            end = os.lseek(reading.fileno(), place, os.SEEK_HOLE)
            while place < end:
                data = os.pread(reading.fileno(), min(end - place, 1 << 20), place)
                os.pwrite(writing.fileno(), data, place)
                place += len(data)
