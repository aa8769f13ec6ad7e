"""How a member looks: a tone and a weave drawn from the id, the same here and in identity.js."""

from itertools import count

TONES = 6


def fnv1a(text: str) -> int:
    """FNV-1a, 32 bits: small, and the same in every language."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def tone_of(member_id: str) -> int:
    """One of six tones, 1 to 6."""
    return fnv1a(f"tone:{member_id}") % TONES + 1


def _quarter(agent_id: str) -> list[int]:
    """The corner that is mirrored: of nine cells four to six, so that it reads as a pattern."""
    for salt in count():
        bits = fnv1a(f"weave:{salt}:{agent_id}")
        quarter = [(bits >> (index * 3)) & 1 for index in range(9)]
        if 4 <= sum(quarter) <= 6:
            return quarter
    raise AssertionError  # count() has no end


def weave(agent_id: str) -> list[tuple[int, int]]:
    """The cells of a 5 by 5 weave, mirrored both ways."""
    quarter = _quarter(agent_id)
    return [
        (x, y) for y in range(5) for x in range(5) if quarter[min(y, 4 - y) * 3 + min(x, 4 - x)]
    ]


def initials(name: str) -> str:
    """ "Ada Okafor" is AO, "ada" is A; signs that are no letter or digit do not count."""
    letters = [first for word in name.split() if (first := next(filter(str.isalnum, word), ""))]
    return "".join(letters[:1] + letters[1:][-1:]).upper() or "?"
