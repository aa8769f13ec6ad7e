"""Installs a locked list of packages into the running venv, checked by hash, if the list has changed.

Called by scripts/venv.sh with the Python of .venv. Uses the standard library only.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

# Without pip's notices, and with its messages in English, which are parsed below.
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install")


def main(lock: Path) -> int:
    stamp = Path(sys.prefix) / f"installed-{lock.name}.sha256"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return 0
    total = len(re.findall(r"^\S+==", lock.read_text(encoding="utf-8"), re.M))
    print(f"… Packages     {total} of {lock.name}, each checked against its hash", flush=True)
    said = install(lock, total)
    if said is not None:
        print("\n".join(said[-15:]), file=sys.stderr)
        print(
            f"\nThe packages of {lock.name} could not be installed; the output of pip above has the reason.",
            file=sys.stderr,
        )
        print(
            "Next step: check the network, or your pip configuration, and run this again.",
            file=sys.stderr,
        )
        return 1
    stamp.write_text(wanted)
    print("✓ Packages     installed")
    return 0


def install(lock: Path, total: int) -> list[str] | None:
    """Install the packages and show progress; gives None, or the output of pip if it failed."""
    command = (*PIP, "--require-hashes", "--compile", "--progress-bar=off", f"--requirement={lock}")
    said: list[str] = []
    found = 0
    with subprocess.Popen(  # noqa: S603 - constants and the path of a lock file
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line.rstrip())
            if line.startswith(("Collecting ", "Processing ", "Requirement already ")):
                found += 1
                show(f"  {found} of {total} fetched", last=found == total)
            elif line.startswith("Installing collected"):
                print("  unpacking and compiling the packages", flush=True)
    return said if pip.returncode else None


def show(text: str, *, last: bool) -> None:
    """Show progress in one line, rewritten in place on a terminal. Elsewhere print only the last state."""
    if sys.stdout.isatty():
        print(f"\r{text}", end="\n" if last else "", flush=True)
    elif last:
        print(text, flush=True)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(Path(sys.argv[1])))
