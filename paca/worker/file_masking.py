"""Masks the secrets in what people are shown of the files of a sandbox: lists, previews, changes and diffs.

Downloads and archives stay as they are: a changed byte would make a file useless.
"""

from __future__ import annotations

from itertools import groupby

from paca.common.secret_removal import SecretMask
from paca.sandbox.files import client


def masked_answer(packed: bytes, mask: SecretMask) -> bytes:
    """The packed answer about files without secrets; itself if it has none. Raises ``FilesBroken`` if it is no answer."""
    answer = client.unpack(packed)
    given = dict(answer)
    if isinstance(text := given.get("text"), str):
        given["text"] = mask.pieces(text, from_middle=bool(given.get("cut")))
    if isinstance(diff := given.get("diff"), str):
        given["diff"] = masked_diff(diff, mask)
    try:
        shown = mask.value(given)
        return packed if shown == answer else client.pack(shown)
    except RecursionError:
        raise client.FilesBroken(client.BROKEN) from None


def masked_diff(diff: str, mask: SecretMask) -> str:
    """The unified diff without secrets, also where one goes on in the next line, behind the sign of that line."""
    parts = []
    for sign, lines in groupby(diff.split("\n"), key=lambda line: line[:1]):
        body = mask.pieces("\n".join(line[1:] for line in lines), from_middle=True)
        parts += [f"{sign}{line}" for line in body.split("\n")]
    return "\n".join(parts)
