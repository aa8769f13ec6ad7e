"""The vendored libraries equal those of the manifest byte for byte, and there are no others."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from scripts import vendor_js

FOLDERS = pytest.mark.parametrize(
    ("folder", "packages"),
    [
        (vendor_js.VENDOR, vendor_js.PACKAGES),
        (vendor_js.FOR_TESTS, vendor_js.TEST_PACKAGES),
    ],
    ids=["pages", "tests"],
)


def manifest(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_text())
    return found


@FOLDERS
def test_vendored_files_have_the_hashes_of_the_manifest(folder: Path, packages: list) -> None:
    for entry in manifest(folder):
        content = (folder / entry["file"]).read_bytes()
        found = base64.b64encode(hashlib.sha384(content).digest()).decode()
        assert entry["sha384"] == f"sha384-{found}", entry["file"]


@FOLDERS
def test_vendored_files_are_all_in_the_manifest(folder: Path, packages: list) -> None:
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert there == {entry["file"] for entry in manifest(folder)} | {"manifest.json"}


@FOLDERS
def test_vendor_manifest_matches_the_script(folder: Path, packages: list) -> None:
    wanted = {
        (package.name, package.version, package.licence, target)
        for package in packages
        for target in package.files.values()
    }
    found = {(e["name"], e["version"], e["licence"], e["file"]) for e in manifest(folder)}
    assert found == wanted


@FOLDERS
def test_vendored_libraries_have_their_licences(folder: Path, packages: list) -> None:
    folders = {entry["file"].split("/")[0] for entry in manifest(folder)}
    assert all((folder / each / "LICENSE").is_file() for each in folders)
