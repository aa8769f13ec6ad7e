"""Fetches the browser libraries of the pages and of their tests from npm, each with its manifest.

    python scripts/vendor_js.py           download, verify, write the files and manifests

Each package stands here with its exact version and the integrity npm publishes for it, so that
a changed tarball is refused. The files are copied as they are, except for the line that points
to a source map we do not ship.
"""

import base64
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "paca" / "web" / "static" / "vendor"
FOR_TESTS = ROOT / "tests" / "browser" / "vendor"
SOURCE_MAP = re.compile(rb"\n//# sourceMappingURL=\S+\s*\Z")

LANGUAGES = [
    *("bash", "c", "cpp", "css", "diff", "dockerfile", "go", "ini", "java", "javascript"),
    *("json", "makefile", "markdown", "python", "rust", "sql", "typescript", "xml", "yaml"),
]


@dataclass(frozen=True)
class Package:
    """One npm package: its source, its hash, and the files that are taken from it."""

    name: str
    version: str
    licence: str
    integrity: str
    files: dict[str, str]  # path in the package -> path in the folder


def same_place(folder: str, *paths: str) -> dict[str, str]:
    return {path: f"{folder}/{path}" for path in paths}


PACKAGES = [
    Package(
        name="lit-html",
        version="3.3.3",
        licence="BSD-3-Clause",
        integrity="sha512-el8M6jK2o3RXBnrSHX3ZKrsN8zEV63pSExTO1wYJz7QndGYZ8353e2a5PPX+qHe2aGayfnchQmkAojaWAREOIA==",
        files=same_place(
            "lit-html",
            "LICENSE",
            "lit-html.js",
            "directive.js",
            "directive-helpers.js",
            "directives/guard.js",
            "directives/live.js",
            "directives/repeat.js",
        ),
    ),
    Package(
        name="marked",
        version="18.2.1",
        licence="MIT",
        integrity="sha512-ii4bxCTCqqwpT86XZWgJNs+ZnAIZksmLGYMViWA7PDIXYIeNo1x6cDdX3JOip9NM/cI6p8z57FxliACboTruMA==",
        files={"LICENSE": "marked/LICENSE", "lib/marked.esm.js": "marked/marked.js"},
    ),
    Package(
        name="dompurify",
        version="3.5.0",
        licence="MPL-2.0 OR Apache-2.0",
        integrity="sha512-LYC0ZkE8P1V42JsRYTwMdme/2ET8SpOc5AA2eOFjP/IadvRd2fwiT4TVz5vkfy0XUx12aS2UaRkTnfVPNOv9vw==",
        files={"LICENSE": "dompurify/LICENSE", "dist/purify.min.js": "dompurify/purify.js"},
    ),
    Package(
        name="@highlightjs/cdn-assets",
        version="11.12.0",
        licence="BSD-3-Clause",
        integrity="sha512-KvOKXODaiFmId9xaq3xc5xCL66wVLUuOngDbO9B/kewbFTqdGbn2nJxNhN3H5R1cgDTVj6R8vH0zgiNDEGjpDw==",
        files={
            "LICENSE": "highlight/LICENSE",
            "es/core.min.js": "highlight/core.js",
            **{
                f"es/languages/{name}.min.js": f"highlight/languages/{name}.js"
                for name in LANGUAGES
            },
        },
    ),
]


TEST_PACKAGES = [
    Package(
        name="axe-core",
        version="4.14.1",
        licence="MPL-2.0",
        integrity="sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
        files={"LICENSE": "axe-core/LICENSE", "axe.min.js": "axe-core/axe.js"},
    ),
]


def download(package: Package) -> bytes:
    """Download the tarball. Exits if its hash is not the one above."""
    wanted_version = f"{package.name}@{package.version}"
    with tempfile.TemporaryDirectory() as folder:
        # By the npm client, from whichever registry it is set up to use.
        command = ["npm", "pack", "--silent", wanted_version, "--pack-destination", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - constants
        (file,) = Path(folder).iterdir()
        tarball = file.read_bytes()
    kind, _, wanted = package.integrity.partition("-")
    found = base64.b64encode(hashlib.new(kind, tarball).digest()).decode()
    if found != wanted:
        raise SystemExit(
            f"{wanted_version}: {kind} is {found}, wanted {wanted}. Nothing was written."
        )
    return tarball


def sha384(content: bytes) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def unpack(package: Package, tarball: bytes, folder: Path) -> list[dict[str, str]]:
    """Write the wanted files and return their manifest entries."""
    entries = []
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        for source, target in package.files.items():
            member = archive.extractfile(f"package/{source}")
            if member is None:
                raise SystemExit(f"{package.name} {package.version} has no file {source}.")
            content = SOURCE_MAP.sub(b"\n", member.read())
            path = folder / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            entries.append(
                {
                    "name": package.name,
                    "version": package.version,
                    "licence": package.licence,
                    "file": target,
                    "sha384": sha384(content),
                }
            )
    return entries


def fetch(packages: list[Package], folder: Path) -> None:
    """Download everything, then write the files and the manifest."""
    manifest = [entry for each in packages for entry in unpack(each, download(each), folder)]
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    sys.stdout.write(f"{len(manifest)} files of {len(packages)} packages in {folder}\n")


def main() -> int:
    fetch(PACKAGES, VENDOR)
    fetch(TEST_PACKAGES, FOR_TESTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
