"""Masks the secrets in what people are shown of the files of a sandbox: lists, previews, changes and diffs.

Downloads and archives stay as they are: a changed byte would make a file useless.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from paca.common.secret_removal import SecretMask
from paca.sandbox.files import client

TEXTS_IN_PIECES = frozenset({"text", "diff"})  # a part of a secret may stand at their ends
BETWEEN = "\0"  # texts that are searched together; no secret holds it


def masked_answer(packed: bytes, mask: SecretMask) -> bytes:
    """The packed answer about files without secrets; itself if it has none. Raises ``FilesBroken`` if it is no answer."""
    answer = client.unpack(packed)
    # guard: answers-without-secrets-stay
    if not TEXTS_IN_PIECES & answer.keys() and not _has_secret(answer, mask):
        return packed
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


def _has_secret(answer: dict[str, Any], mask: SecretMask) -> bool:
    """Whether one of the texts and names of the JSON value has a secret. To search ten thousand one by one takes much longer."""
    found: list[str] = []
    pending: list[Any] = [answer]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found += value
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    texts = BETWEEN.join(found)
    return mask.text(texts) != texts


def masked_diff(diff: str, mask: SecretMask) -> str:
    """The unified diff without secrets, also where one goes on in the next line, behind the sign of that line."""
    parts = []
    for sign, lines in groupby(diff.split("\n"), key=lambda line: line[:1]):
        body = mask.pieces("\n".join(line[1:] for line in lines), from_middle=True)
        parts += [f"{sign}{line}" for line in body.split("\n")]
    return "\n".join(parts)
