"""What the broker answers to git: heads, and refusals in words that git shows."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from paca.repositories.broker import pkt_line, upstream
from paca.repositories.broker.bodies import Pieces, chunk
from paca.repositories.broker.pkt_line import CommandList
from paca.repositories.broker.upstream import Answer


def success_head(kind: str) -> bytes:
    """The head of an answer of this media type, in chunks."""
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nCache-Control: no-cache\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    ).encode("ascii")


def answer_head(answer: Answer) -> bytes:
    """The head for what a server answered, with the headers that git needs."""
    lines = ["HTTP/1.1 200 OK"]
    for name in upstream.PASSED_ON:
        value = answer.header(name)
        if value is not None and value.isascii() and value.isprintable():
            lines.append(f"{name}: {value}")
    lines += ["Transfer-Encoding: chunked", "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


async def refuse(writer: asyncio.StreamWriter, status: int, words: str) -> None:
    """Answer in plain text, which git shows as the words of the server."""
    body = words.encode("utf-8", "replace") + b"\n"
    await _refuse(writer, status, b"text/plain; charset=utf-8", body)


async def refuse_lfs(writer: asyncio.StreamWriter, words: str) -> None:
    """Answer as Git LFS expects it, which shows the message."""
    body = json.dumps({"message": words}).encode("ascii")
    await _refuse(writer, 403, b"application/vnd.git-lfs+json", body)


async def _refuse(writer: asyncio.StreamWriter, status: int, kind: bytes, body: bytes) -> None:
    writer.write(
        b"HTTP/1.1 %d Refused\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
        % (status, kind, len(body), body)
    )
    with suppress(OSError):
        await writer.drain()


async def refuse_push(
    commands: CommandList, problem: str, pieces: Pieces, writer: asyncio.StreamWriter
) -> None:
    """Refuse in git's own words, once the client has sent all: it reads no answer before."""
    async for _ in pieces.rest():
        pass
    words = f"Paca refused this push. {problem}"
    writer.write(success_head("application/x-git-receive-pack-result"))
    writer.write(chunk(pkt_line.refusal_report(commands, "refused by Paca", words)) + chunk(b""))
    await writer.drain()
