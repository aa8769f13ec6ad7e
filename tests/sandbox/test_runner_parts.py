"""Modules of the runner: frames, output, diffs and types of files."""

import json
from binascii import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca.sandbox.runner.file_type import binary_kind
from paca.sandbox.runner.frames import MAX_FRAME, RESYNC, FrameParser, dumps, encode, loads
from paca.sandbox.runner.output import HEAD_CHARACTERS, TAIL_CHARACTERS, CallOutput
from paca.sandbox.runner.textdiff import compare

unhurried = settings(deadline=None)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
messages = st.dictionaries(st.text(max_size=8), values, max_size=4)


@unhurried
@given(values)
def test_the_runners_json_is_json(value):
    assert loads(dumps(value)) == json.loads(json.dumps(value)) == json.loads(dumps(value))


@pytest.mark.parametrize("text", ["", "{", '{"a":1} x', "[1,]", "nul", '"\\ud8"', "{1:2}"])
def test_invalid_json_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - the message does not matter
        loads(text)


@unhurried
@given(st.lists(messages, max_size=5), st.integers(1, 50))
def test_frames_arrive_whole_however_they_are_cut(sent, size):
    stream = b"".join(encode("ab", message) for message in sent)
    parser = FrameParser()
    found = []
    for start in range(0, len(stream), size):
        found += parser.feed(stream[start : start + size])
    assert found == [("ab", message) for message in sent]


@unhurried
@given(messages, messages, st.data())
def test_a_frame_cut_anywhere_is_lost_alone(broken, whole, data):
    frame = encode("aa", broken)
    cut = frame[: data.draw(st.integers(0, len(frame) - 1))]
    assert FrameParser().feed(cut + RESYNC + encode("bb", whole)) == [("bb", whole)]


@unhurried
@given(messages, st.data())
def test_a_frame_with_a_damaged_byte_is_dropped(message, data):
    frame = bytearray(encode("aa", message))
    # The checksum does not cover the nonce: a damaged nonce is one of another worker.
    place = data.draw(st.integers(len(b"PACA1 aa "), len(frame) - 2))
    frame[place] ^= data.draw(st.integers(1, 255))
    assert FrameParser().feed(bytes(frame)) in ([], [("aa", message)])


@unhurried
@given(st.binary(max_size=200))
def test_garbage_is_not_parsed_as_a_frame(garbage):
    assert FrameParser().feed(garbage + b"\n" + encode("cc", {"a": 1}))[-1:] == [("cc", {"a": 1})]


def test_a_frame_without_end_does_not_fill_the_memory():
    parser = FrameParser()
    for _ in range(MAX_FRAME // (1 << 20) + 2):
        assert parser.feed(b"x" * (1 << 20)) == []
    assert len(parser._buffer) < 4 << 20
    assert parser.feed(b"\n" + encode("aa", {"a": 1})) == [("aa", {"a": 1})]


def test_deeply_nested_messages_are_dropped():
    body = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    frame = b"PACA1 aa %d %08x %b\n" % (len(body), crc32(body), body)
    assert FrameParser().feed(frame + encode("bb", {"a": 1}))[-1:] == [("bb", {"a": 1})]


@unhurried
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.integers(1, 7))
def test_output_text_stays_whole_however_its_bytes_are_split(text, size):
    output = CallOutput(lambda: None)
    data = text.encode()
    for start in range(0, len(data), size):
        output.feed(data[start : start + size])
    output.close()
    assert output.text() == output.take_live() == text.replace("\0", "␀")


@unhurried
@given(st.lists(st.integers(0, 9000), max_size=30))
def test_a_long_output_keeps_exactly_its_head_and_tail(sizes):
    output = CallOutput(lambda: None)
    whole = ""
    for number, size in enumerate(sizes):
        piece = chr(97 + number % 26) * size
        whole += piece
        output.feed(piece.encode())
    output.close()
    if len(whole) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        assert output.text() == whole
        return
    head, _, rest = output.text().partition("\n[... ")
    left_out, _, tail = rest.partition(" characters left out ...]\n")
    assert head == whole[:HEAD_CHARACTERS]
    assert whole.endswith(tail)
    assert len(head) + int(left_out) + len(tail) == len(whole)


lines = st.lists(st.sampled_from(["a", "b", "c", "", "longer line"]), max_size=12)


@unhurried
@given(lines, lines, st.booleans(), st.booleans())
def test_a_diff_can_be_applied(before, after, old_end, new_end):
    old = "\n".join(before) + "\n" * old_end
    new = "\n".join(after) + "\n" * new_end
    added, removed, diff = compare(old, new, "x")
    assert apply(diff, old) == new
    assert added - removed == len(new.splitlines()) - len(old.splitlines())
    assert bool(diff) == (old != new)


def apply(diff: str, old: str) -> str:
    """A unified diff applied by its hunk headers, as patch would."""
    source, result, at = old.splitlines(keepends=True), [], 0
    body = diff.splitlines(keepends=True)[2:]
    for number, line in enumerate(body):
        no_newline = number + 1 < len(body) and body[number + 1].startswith("\\")
        text = line[1:-1] if no_newline else line[1:]
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            begin = int(start) - (length != "0")
            result += source[at:begin]
            at = begin
        elif line.startswith("-"):
            assert source[at] == text
            at += 1
        elif line.startswith("+"):
            result.append(text)
        elif line.startswith(" "):
            assert source[at] == text
            result.append(text)
            at += 1
    return "".join(result + source[at:])


def test_a_diff_of_huge_files_is_not_computed():
    old = "".join(f"{number}\n" for number in range(50_000))
    new = "".join(f"{number * 7 % 50_000}\n" for number in range(50_000))
    added, removed, diff = compare(old, new, "x")
    assert (added, removed) == (49_999, 49_999)
    assert "too long to show" in diff


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"", ""),
        (b"plain text\n", ""),
        ("Größe €".encode(), ""),
        ("Größe".encode("latin-1") + b" and more of the words", ""),
        (b"\x1b[31mred\x1b[0m", ""),
        ("€".encode() * 100 + b"\xe2\x82", ""),
        (b"a\0b", "binary data"),
        (bytes(range(1, 32)), "binary data"),
        (bytes(range(128, 256)), "binary data"),
        (b"%PDF-1.4", "PDF"),
        (b"PK\x03\x04rest", "zip archive"),
        ("text".encode("utf-16"), ""),
        ("text\n".encode("utf-16-le"), ""),
        (b"\xff\xfe\0\xd8", "binary data"),
    ],
)
def test_text_is_distinguished_from_binary_data(start, kind):
    assert binary_kind(start) == kind
