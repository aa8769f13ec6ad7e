"""Avatars: a colour tone and an identicon derived from the member's id; avatars.js draws the same."""

from itertools import count

TONES = 6


def fnv1a(text: str) -> int:
    """The 32-bit FNV-1a hash, which JavaScript computes just as easily."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def avatar_tone(member_id: str) -> int:
    """The number of the colour tone, 1 to 6."""
    return fnv1a(f"tone:{member_id}") % TONES + 1


def _quarter(agent_id: str) -> list[int]:
    """The 3 by 3 corner that is mirrored, as bits. Four to six of the nine are set, so a pattern shows."""
    for salt in count():
        bits = fnv1a(f"weave:{salt}:{agent_id}")
        quarter = [(bits >> (index * 3)) & 1 for index in range(9)]
        if 4 <= sum(quarter) <= 6:
            return quarter
    raise AssertionError  # count() has no end


def identicon_cells(agent_id: str) -> list[tuple[int, int]]:
    """The filled cells (x, y) of a 5 by 5 identicon that is mirrored both ways."""
    quarter = _quarter(agent_id)
    return [
        (x, y) for y in range(5) for x in range(5) if quarter[min(y, 4 - y) * 3 + min(x, 4 - x)]
    ]


def initials(name: str) -> str:
    """ "AO" for "Ada Okafor", "A" for "ada"; only letters and digits count."""
    letters = [first for word in name.split() if (first := next(filter(str.isalnum, word), ""))]
    return "".join(letters[:1] + letters[1:][-1:]).upper() or "?"
