"""The list of a folder has one order, in which pages follow each other without a gap."""

import os

from paca.sandbox.files.inside.listing import list_folder

FOLDERS = ["docs", "Src", "Ärger"]
FILES = ["A.txt", "a.txt", "B.txt", "z", "äpfel", "bad\udcff"]


def test_folders_come_first_and_case_does_not_count(tmp_path):
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    for name in FILES:
        (tmp_path / name).touch()
    (tmp_path / ".paca").mkdir()
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        whole = list_folder(root, {"path": "."})
        pages = [
            list_folder(root, {"path": ".", "offset": at, "limit": 2}) for at in range(0, 9, 2)
        ]
    finally:
        os.close(root)
    assert [name for name, kind, *_ in whole["entries"] if kind == "folder"] == FOLDERS
    assert [name for name, *_ in whole["entries"]][3:] == [
        *("A.txt", "a.txt", "B.txt", "bad�", "z", "äpfel"),
    ]
    assert [entry for page in pages for entry in page["entries"]] == whole["entries"]
    assert {page["total"] for page in (whole, *pages)} == {9}
