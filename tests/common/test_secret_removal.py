"""Removal of secrets: each form, wherever a stream cuts it, and nothing else."""

import base64
import html
import json
import random
import re
import string
from urllib.parse import quote, quote_plus
from uuid import uuid4

import pytest

from paca.common import secret_removal
from paca.common.secret_removal import SecretMask, SecretScope, add_source, from_sources

SECRET = 'canary-"quoted"/+é&-0123456789'
LINES = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA\n-----END KEY-----"
RAW = SECRET.encode()


def wrapped(text: str, width: int = 20) -> str:
    return "\r\n".join(text[at : at + width] for at in range(0, len(text), width))


FORMS = {
    "exact": SECRET,
    "JSON": json.dumps(SECRET),
    "JSON in Unicode": json.dumps(SECRET, ensure_ascii=False),
    "JSON in JSON": json.dumps(json.dumps({"key": SECRET})),
    "JSON with slashes escaped": json.dumps(SECRET).replace("/", "\\/"),
    "URL": quote(SECRET, safe=""),
    "URL in small letters": re.sub("%..", lambda found: found[0].lower(), quote(SECRET, safe="")),
    "form": quote_plus(SECRET),
    "hex": RAW.hex(),
    "HEX": RAW.hex().upper(),
    "HTML": html.escape(SECRET),
    **{f"base64 at {at}": base64.b64encode(b"x" * at + RAW + b"yz").decode() for at in range(3)},
    **{f"base64url at {at}": base64.urlsafe_b64encode(b"?" * at + RAW).decode() for at in range(3)},
    "base64 in lines": wrapped(base64.b64encode(b"key=" + RAW).decode()),
    "hex in lines": wrapped(RAW.hex(), 7),
}


def holds_part(text: str) -> bool:
    """Whether half of any form can be read."""
    plain = text.replace("\n", "").replace("\r", "")
    forms = secret_removal.forms_of([SECRET])
    return any(form[: len(form) // 2] in plain or form[len(form) // 2 :] in plain for form in forms)


@pytest.mark.parametrize("name", FORMS)
def test_secret_is_removed_in_each_form(name: str) -> None:
    text = f"before {FORMS[name]} after"
    assert holds_part(text)
    shown = SecretMask([SECRET]).text(text)
    assert not holds_part(shown)
    assert (shown[:7], shown[-6:], "***" in shown) == ("before ", " after", True)
    assert SecretMask([SECRET]).data(b"\xff" + text.encode()) == b"\xff" + shown.encode()


@pytest.mark.parametrize("name", FORMS)
def test_stream_shows_no_part_of_a_secret_wherever_it_is_cut(name: str) -> None:
    text = f"before {FORMS[name]} after"
    mask = SecretMask([SECRET, LINES])
    whole = mask.text(text)
    for cut in range(len(text)):
        stream = mask.stream()
        pieces = [stream.feed(text[:cut]), stream.feed(text[cut:]), stream.close()]
        assert "".join(pieces) == whole
    stream = mask.stream()
    assert "".join([*map(stream.feed, text), stream.close()]) == whole


def test_stream_shows_at_once_what_begins_no_secret() -> None:
    stream = SecretMask(["canary-0123456789"]).stream()
    assert stream.feed("Compiling 17 files ...\n") == "Compiling 17 files ...\n"
    assert stream.feed("token: can") == "token: "
    assert stream.feed("ary-01\n") == ""
    assert stream.feed("2345") == ""
    assert stream.close() == "canary-01\n2345"


def test_longer_secret_that_begins_like_another_is_removed_whole() -> None:
    mask = SecretMask(["canary-0123", "canary-0123456789"])
    stream = mask.stream()
    shown = [stream.feed("a canary-0123"), stream.feed("456789 b"), stream.close()]
    assert "".join(shown) == mask.text("a canary-0123456789 b") == "a *** b"


def test_secret_that_begins_within_another_is_removed_whole() -> None:
    mask = SecretMask(["abcdefgh", "efgh-0123456789-end"])
    assert mask.text("x abcdefgh-0123456789-end y") == "x *** y"
    stream = mask.stream()
    shown = [stream.feed("x abcdefgh"), stream.feed("-0123456789"), stream.feed("-end y")]
    assert shown == ["x ***", "", " y"]


def test_what_waits_is_never_longer_than_a_secret() -> None:
    stream = SecretMask(["a" * 8]).stream()
    shown = "".join(stream.feed("a" * 5) for _ in range(200))
    assert len(stream._held) < 8
    assert shown + stream.close() == "***"


def test_each_line_of_a_long_secret_counts_as_one() -> None:
    mask = SecretMask([LINES])
    assert mask.text(f"a\n{LINES}\nb") == "a\n***\nb"
    assert "MIIE" not in mask.text(LINES.split("\n")[1])


def test_short_values_remove_nothing() -> None:
    mask = SecretMask(["", "abc", "1234567"])
    assert not mask
    assert mask.text("abc 1234567 abcde") == "abc 1234567 abcde"
    assert mask.stream().feed("abc 1234567") == "abc 1234567"
    assert SecretMask(["a\n\n\n\n\nb\nc"]).text("abc") == "abc"  # without its line breaks
    assert (secret_removal.is_long_enough("1234567 "), secret_removal.is_long_enough("12345678")) == (False, True)  # fmt: skip


def test_values_of_json_are_masked_with_their_names_and_unchanged_ones_stay_the_same_object() -> (
    None
):
    mask = SecretMask([SECRET])
    found = mask.value({"a": [1, None, f"x{SECRET}"], SECRET: True})
    assert found == {"a": [1, None, "x***"], "***": True}
    plain = {"a": [1, {"b": "c"}]}
    assert mask.value(plain) is plain


def plainly_masked(text: str, secrets: list[str]) -> str:
    """The oracle: each place of each form is looked up alone, and those that overlap are one."""
    places = [at for at, each in enumerate(text) if each not in "\r\n"]
    plain = "".join(text[at] for at in places)
    spans = sorted(
        (at, at + len(form))
        for form in secret_removal.forms_of(secrets)
        for at in range(len(plain))
        if plain.startswith(form, at)
    )
    joined: list[list[int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    for start, end in reversed(joined):
        text = f"{text[: places[start]]}***{text[places[end - 1] + 1 :]}"
    return text


ALPHABETS = ("ab", "ab\n", 'aé"/+ \n', "😀a\\\r\n")


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=ascii)
def test_search_and_streams_find_what_the_oracle_finds(alphabet: str) -> None:
    """Random secrets: parts of others, beside each other, overlapping, in each form, cut anywhere."""
    seeded = random.Random(14)
    masked = 0
    for _ in range(60):
        secrets = ["".join(seeded.choices(alphabet, k=seeded.randint(8, 12))) for _ in range(4)]
        secrets += [secrets[0] + secrets[1], secrets[2][4:] + secrets[3][:6]]
        parts = [*secrets, *(each[:5] for each in secrets), *(each[4:] for each in secrets)]
        parts += [base64.b64encode(each.encode()).decode() for each in secrets]
        parts += [each.encode().hex() for each in secrets] + list(alphabet)
        text = "".join(seeded.choices(parts, k=seeded.randint(0, 9)))
        mask = SecretMask(secrets)
        shown = mask.text(text)
        assert shown == plainly_masked(text, secrets)
        masked += "***" in shown
        stream, at, pieces = mask.stream(), 0, []
        while at < len(text):
            size = seeded.randint(1, 7)
            pieces.append(stream.feed(text[at : at + size]))
            at += size
        assert "".join([*pieces, stream.close()]) == shown
    assert masked > 20


def test_work_grows_with_the_text_and_not_with_the_number_of_secrets() -> None:
    """Counted in looks at the table of jumps."""

    def looks(number: int, length: int) -> int:
        seeded = random.Random(7)
        letters = string.ascii_letters + string.digits
        mask = SecretMask(["".join(seeded.choices(letters, k=40)) for _ in range(number)])
        counting = _CountingDict(mask._jumps)
        mask._jumps = counting
        mask.text("".join(seeded.choices(letters, k=length)))
        return counting.looks

    few = looks(5, 20_000)
    assert looks(100, 20_000) < 1.5 * few
    assert looks(5, 80_000) < 4.5 * few
    assert few < 20_000 / 10


class _CountingDict(dict[str, int]):
    looks = 0

    def get(self, key: str, default: int = 0) -> int:  # type: ignore[override]
        self.looks += 1
        return super().get(key, default)


def test_rooms_give_their_secrets_by_project_and_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_removal, "_sources", {})
    asked = []
    scope = SecretScope(uuid4(), uuid4())

    def read(of: SecretScope) -> list[str]:
        asked.append(of)
        return ["one-secret", ""]

    add_source("tests", read)
    add_source("tests", read)
    add_source("others", lambda of: {"another-secret"})
    assert from_sources(scope) == {"one-secret", "another-secret"}
    assert asked == [scope]


TOKEN = "paca_" + "91223edaad69ac4ea676f6299d31fc21" * 2
LINK = "https://paca.example/link/Ab3-_" + "xY9z" * 9 + "Qw/"


@pytest.mark.parametrize("secret", [TOKEN, LINK])
@pytest.mark.parametrize(
    "form",
    [
        str,
        json.dumps,
        lambda text: quote(text, safe=""),
        lambda text: text.encode().hex(),
        lambda text: text.encode().hex().upper(),
        *(
            lambda text, at=at: base64.b64encode(b"?" * at + text.encode()).decode()
            for at in range(3)
        ),
        lambda text: wrapped(base64.b64encode(text.encode()).decode(), 76),
    ],
)
def test_tokens_and_links_are_found_by_their_shape(secret: str, form) -> None:
    text = f"before {form(secret)} after"
    mask = SecretMask(shapes=True)
    shown = mask.text(text)
    assert "***" in shown
    assert len(shown.replace("\r\n", "")) < len(f"before {form(LINK[:26])} after") + 8
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    for cut in range(len(text)):
        stream = mask.stream()
        assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.close() == shown


def test_shapes_leave_other_texts_alone() -> None:
    text = "paca_admin /link/short/ /join/ cGFjYV 706163615f and paca_ at the end paca_"
    mask = SecretMask(shapes=True)
    stream = mask.stream()
    assert mask.text(text) == stream.feed(text) + stream.close() == text


def test_parts_of_a_secret_that_a_cut_has_left_are_removed() -> None:
    mask = SecretMask(["canary-0123456789-abcdef"])
    cut = "head canary-01234\n[... 3.0 KiB left out ...]\n789-abcdef tail"
    assert mask.pieces(cut) == "head ***\n[... 3.0 KiB left out ...]\n*** tail"
    assert mask.pieces("canary [... line cut]\nabcdef") == "canary [... line cut]\nabcdef"
    assert mask.pieces("0123456789-abcdef and canary-0", from_middle=True) == "*** and ***"
    assert mask.pieces("0123456789-abcdef") == "0123456789-abcdef"


def test_bytes_in_pieces_are_masked_also_within_a_character() -> None:
    mask = SecretMask([SECRET])
    data = f"é {SECRET} é".encode() + b"\xff\xfe"
    for cut in range(len(data)):
        stream = secret_removal.SecretByteStream(mask)
        shown = stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.close()
        assert shown == "é *** é".encode() + b"\xff\xfe"


def test_growing_mask_learns_and_forgets() -> None:
    mask = secret_removal.GrowingMask(most=2)
    mask.add(["first-secret", "another-secret"])
    mask.add(["first-secret"])
    assert mask.text("first-secret another-secret") == "*** ***"
    mask.add(["third-secret"])
    assert mask.text("first-secret third-secret") == "first-secret ***"
