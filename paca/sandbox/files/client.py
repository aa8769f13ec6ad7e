"""Asks the program inside a sandbox for files, changes and diffs, and gives it uploads.

Its answers come from inside, where the agent can do as it likes: they are bounded and checked for their shape, and their texts
are only ever shown.
"""

from __future__ import annotations

import asyncio
import functools
import json
import marshal
import re
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any
from uuid import uuid4

from paca.common.errors import PacaError
from paca.common.text import to_storable
from paca.engine.workspace import (
    Command,
    FileTooLarge,
    NoSuchFile,
    NotAFile,
    OutsideWorkspace,
    ProcessPipe,
    SandboxWorkspace,
    WorkspaceError,
)
from paca.sandbox.files.inside.protocol import ANSWER, DATA, ERROR, HEADER, PACKED
from paca.sandbox.runner_bundle import BUNDLE_ROOT

PACKAGE = "paca.sandbox"
# The modules that a request needs, each after those that it imports. None uses ``json``, which imports ``re``: that takes
# longer than the rest of the start.
_BASE = ("runner", "runner.errors", "runner.safe_path", "runner.frames", "files.inside.protocol")
_LISTING = (*_BASE, "runner.file_io", "files.inside.listing")
_CONTENTS = (*_LISTING, "runner.text_encoding", "runner.file_type", "files.inside.contents")
_CHANGES = (
    *_CONTENTS,
    "runner.textdiff",
    "files.inside.repositories",
    "files.inside.comparison",
    "files.inside.changes",
)
MODULES = {
    "list": _LISTING,
    "show": _CONTENTS,
    "download": _CONTENTS,
    "archive": _CONTENTS,
    "changes": _CHANGES,
    "diff": _CHANGES,
    "upload": (*_LISTING, "files.inside.uploads"),
}
# Process 1 is the runner, and its command line names the Python of this sandbox.
SHELL = 'IFS= read -r -d \'\' python </proc/1/cmdline; exec "$python" -I -S -X utf8 -c "$0"'
START = f"""
import marshal, sys
new = type(sys)
magic, codes, pairs = marshal.load(sys.stdin.buffer)
if magic == sys.modules["_frozen_importlib_external"].MAGIC_NUMBER:
    pairs = marshal.loads(codes)
for name, source in pairs:
    parent, _, child = name.rpartition(".")
    module = sys.modules[name] = new(name)
    setattr(sys.modules.setdefault(parent, new(parent)), child, module)
    exec(source, module.__dict__)
sys.modules["{PACKAGE}.files.inside.main"].main()
"""
LIBRARIES = {"LD_LIBRARY_PATH": f"{BUNDLE_ROOT}/python/lib:{BUNDLE_ROOT}/python/lib64"}
ANY_PYTHON = 2  # the version of the format that every Python 3 reads
MAX_FRAME_BYTES = 4 << 20
MAX_ANSWER_BYTES = 16 << 20
PLAIN_ANSWER_BYTES = 1 << 20
MAX_CONTAINERS, MAX_VALUES = 50_000, 250_000
TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # without going back
SILENT_SECONDS = 30.0
MAX_DETAIL_CHARACTERS = 500
BROKEN = "The program that reads files in the sandbox ended early. Try again."


class WorkspaceFull(WorkspaceError):
    """The workspace is full. Delete files in it, or have the agent delete some, and try again."""


class FilesBroken(WorkspaceError):
    """The sandbox gave no usable answer. Try again."""


ERRORS: dict[str, type[PacaError]] = {
    "no_such_file": NoSuchFile,
    "not_a_file": NotAFile,
    "outside_workspace": OutsideWorkspace,
    "file_too_large": FileTooLarge,
    "disk_full": WorkspaceFull,
}


class Reply:
    """The frames of one request."""

    def __init__(self, pipe: ProcessPipe) -> None:
        self._pipe = pipe
        self._buffer = bytearray()

    async def answer(self) -> dict[str, Any]:
        """The next answer. Raises the error of the program, and ``FilesBroken``."""
        found = await self.next()
        if not isinstance(found, dict):
            raise FilesBroken(BROKEN)
        return found

    async def next(self) -> dict[str, Any] | bytes:
        """The next answer or piece of a file. Raises the error of the program, and ``FilesBroken``."""
        kind, payload = await self._frame()
        if kind == DATA:
            return payload
        if kind == PACKED:
            return unpack(payload)
        if kind != ANSWER:
            raise FilesBroken(BROKEN)
        return _parse(payload)

    async def packed(self) -> bytes:
        """The next answer, for ``unpack``. Raises the error of the program, and ``FilesBroken``."""
        kind, payload = await self._frame()
        if kind != PACKED:
            raise FilesBroken(BROKEN)
        return payload

    async def _frame(self) -> tuple[bytes, bytes]:
        kind, length = HEADER.unpack(await self._read(HEADER.size))
        # guard: files-answers-are-bounded
        if length > MAX_FRAME_BYTES:
            raise FilesBroken(BROKEN)
        payload = await self._read(length)
        if kind == ERROR:
            found = _parse(payload)
            error = ERRORS.get(str(found.get("code")), WorkspaceError)
            detail = to_storable(str(found.get("detail") or "")[:MAX_DETAIL_CHARACTERS])
            raise error(detail or None)
        return kind, payload

    async def _read(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    data = await self._pipe.receive()
            except TimeoutError:
                raise FilesBroken("The sandbox does not answer. Try again.") from None
            if not data:
                outcome = await self._pipe.outcome()
                facts = {"exit_code": outcome.exit_code, "cause": outcome.cause}
                raise FilesBroken(BROKEN, **facts, said=outcome.output[-MAX_DETAIL_CHARACTERS:])
            self._buffer += data
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def unpack(packed: bytes) -> dict[str, Any]:
    """The answer in compressed JSON. Raises ``FilesBroken`` if it is none, or is too long."""
    unpacking = zlib.decompressobj()
    try:
        payload = unpacking.decompress(packed, MAX_ANSWER_BYTES)
    except zlib.error:
        raise FilesBroken(BROKEN) from None
    # guard: packed-answers-are-bounded
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise FilesBroken(BROKEN)
    # guard: packed-answers-hold-few-values
    if len(payload) > PLAIN_ANSWER_BYTES and _holds_too_much(payload):
        raise FilesBroken(BROKEN)
    return _parse(payload)


def pack(answer: dict[str, Any]) -> bytes:
    """The answer as the program packs it, for ``unpack``."""
    return zlib.compress(json.dumps(answer, separators=(",", ":")).encode(), 1)


def _holds_too_much(payload: bytes) -> bool:
    """Whether there are too many lists, objects or values: each takes much more memory than the few bytes that it is
    written with."""
    bare = TEXTS.sub(b"", payload)
    containers = bare.count(b"[") + bare.count(b"{")
    return containers > MAX_CONTAINERS or bare.count(b",") > MAX_VALUES


def _parse(payload: bytes) -> dict[str, Any]:
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        raise FilesBroken(BROKEN) from None
    if not isinstance(found, dict):
        raise FilesBroken(BROKEN)
    return found


@asynccontextmanager
async def asking(
    workspace: SandboxWorkspace, op: str, *, body: AsyncIterator[bytes] | None = None, **fields: Any
) -> AsyncIterator[Reply]:
    """Send a request, with the bytes of an upload after it. The program ends with the block.

    Raises ``WorkspaceError`` and ``Superseded``.
    """
    pipe = await workspace.open_pipe(
        Command(f"files-{uuid4().hex}", argv=("/bin/bash", "-c", SHELL, START), env=LIBRARIES)
    )
    try:
        await pipe.send(sources(op) + json.dumps({"op": op, **fields}).encode() + b"\n")
        if body is not None:
            async for piece in body:
                await pipe.send(piece)
        yield Reply(pipe)
    finally:
        await pipe.close()


async def ask(workspace: SandboxWorkspace, op: str, **fields: Any) -> dict[str, Any]:
    """The answer to a request that has one. Raises what ``asking`` and ``Reply.answer`` raise."""
    async with asking(workspace, op, **fields) as reply:
        return await reply.answer()


@functools.cache
def sources(op: str) -> bytes:
    """The modules of the program for a request: pairs of their names and sources, and the same compiled for the Python
    that this magic number stands for, which the sandbox nearly always has too: to compile them takes longer than to list.
    """
    root = Path(__file__).parent.parent
    pairs = []
    for name in (*MODULES[op], "files.inside.main"):
        path = root.joinpath(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        pairs.append((f"{PACKAGE}.{name}", file.read_text(encoding="utf-8")))
    codes = marshal.dumps([(name, compile(source, name, "exec")) for name, source in pairs])
    return marshal.dumps((MAGIC_NUMBER, codes, pairs), ANY_PYTHON)
