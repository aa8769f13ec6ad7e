"""The libraries in the repository are those of the manifest, byte for byte, and nothing else."""

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
def test_each_file_has_the_hash_of_the_manifest(folder: Path, packages: list) -> None:
    for entry in manifest(folder):
        content = (folder / entry["file"]).read_bytes()
        found = base64.b64encode(hashlib.sha384(content).digest()).decode()
        assert entry["sha384"] == f"sha384-{found}", entry["file"]


@FOLDERS
def test_no_file_is_there_that_the_manifest_does_not_name(folder: Path, packages: list) -> None:
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert there == {entry["file"] for entry in manifest(folder)} | {"manifest.json"}


@FOLDERS
def test_the_manifest_is_what_the_script_would_fetch(folder: Path, packages: list) -> None:
    wanted = {
        (package.name, package.version, package.licence, target)
        for package in packages
        for target in package.files.values()
    }
    found = {(e["name"], e["version"], e["licence"], e["file"]) for e in manifest(folder)}
    assert found == wanted


@FOLDERS
def test_each_library_comes_with_its_licence(folder: Path, packages: list) -> None:
    folders = {entry["file"].split("/")[0] for entry in manifest(folder)}
    assert all((folder / each / "LICENSE").is_file() for each in folders)
