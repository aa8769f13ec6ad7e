"""The libraries in the repository are those of the manifest, byte for byte, and nothing else."""

import base64
import hashlib
import json

from scripts import vendor_js
from tests.web.sources import VENDOR

MANIFEST = json.loads((VENDOR / "manifest.json").read_text())


def test_each_file_has_the_hash_of_the_manifest() -> None:
    for entry in MANIFEST:
        content = (VENDOR / entry["file"]).read_bytes()
        found = base64.b64encode(hashlib.sha384(content).digest()).decode()
        assert entry["sha384"] == f"sha384-{found}", entry["file"]


def test_no_file_is_there_that_the_manifest_does_not_name() -> None:
    there = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    assert there == {entry["file"] for entry in MANIFEST} | {"manifest.json"}


def test_the_manifest_is_what_the_script_would_fetch() -> None:
    wanted = {
        (package.name, package.version, package.licence, target)
        for package in vendor_js.PACKAGES
        for target in package.files.values()
    }
    assert {(e["name"], e["version"], e["licence"], e["file"]) for e in MANIFEST} == wanted


def test_each_library_comes_with_its_licence() -> None:
    folders = {entry["file"].split("/")[0] for entry in MANIFEST}
    assert all((VENDOR / folder / "LICENSE").is_file() for folder in folders)
