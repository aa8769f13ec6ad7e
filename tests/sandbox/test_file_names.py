"""Names of uploads and of entries of archives are safe on every system."""

import pytest

from paca.sandbox.files.names import UniqueNames, safe_part


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report 1.pdf", "report 1.pdf"),
        ("../../etc/passwd", "__.._etc_passwd"),
        ("..", "_"),
        (".", "_"),
        ("", "_"),
        (".env", ".env"),
        ("a\\b:c*?.txt", "a_b_c__.txt"),
        ("con.txt", "_con.txt"),
        ("NUL", "_NUL"),
        ("a\nb\u202etxt.exe", "a_b_txt.exe"),
        ("a. ", "a"),
        ("a. .", "a"),
        ("con .", "_con"),
        ("CON .txt", "_CON .txt"),
        ("com¹.txt", "_com¹.txt"),
        ("\ud800x", "_x"),
        ("é.txt", "é.txt"),
    ],
)
def test_name_becomes_safe(name, safe):
    assert safe_part(name) == safe


def test_long_name_keeps_its_ending():
    assert safe_part("ä" * 500 + ".tar").endswith("ä.tar")
    assert len(safe_part("ä" * 500 + ".tar").encode()) <= 200
    assert safe_part("a" * 198 + " .b" + "c" * 90) == "a" * 198


def test_names_of_an_archive_are_relative_and_differ_on_every_system():
    names = UniqueNames()
    taken = [names.take(path) for path in ("/abs/a", "a/../../b", "A.txt", "a.txt", "a?", "a*", "")]
    assert taken == ["abs/a", "a/_/_/b", "A.txt", "2_a.txt", "a_", "2_a_", "_"]


def test_names_that_become_the_same_one_get_their_numbers_at_once():
    names = UniqueNames()
    taken = {names.take("a?" if number % 2 else "a*") for number in range(20_000)}
    assert len(taken) == 20_000
    assert "20000_a_" in taken
