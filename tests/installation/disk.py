"""A small disk that a test can fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Disk:
    """A file system mounted at ``place``."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def fill(self, leave_mib: int) -> None:
        left = os.statvfs(self.place)
        size = left.f_bavail * left.f_frsize - (leave_mib << 20)
        with (self.place / "ballast").open("wb", buffering=0) as ballast:
            for block in (1 << 20, 1 << 12):
                with suppress(OSError):  # there may be slightly less space than was reported
                    while ballast.tell() + block <= size:
                        ballast.write(bytes(block))

    def make_room(self) -> None:
        (self.place / "ballast").unlink()


@contextmanager
def mounted(place: Path, *, size_mib: int) -> Iterator[Disk]:
    """Mount a disk at a new folder until the block ends; needs root."""
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size_mib}m"]
    subprocess.run(["mount", *options, "paca-test", str(place)], check=True)
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
