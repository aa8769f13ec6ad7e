#!/bin/sh
# Creates .venv with a Python that is new enough, and installs a locked list of packages into it.
# Usage: scripts/venv.sh requirements.txt
set -eu
venv=.venv
new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

say() { printf '%s\n' "$*"; }

find_python() {
    for name in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$name" -c "$new_enough" >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    say "Paca needs Python 3.11 or newer, and there is none on your PATH." >&2
    say "Next step: install it (Debian, Ubuntu: apt install python3 python3-venv), or name it:" >&2
    say "  make run PYTHON=/path/to/python3.11" >&2
    exit 1
}

# Create .venv, also if its interpreter no longer exists because Python was removed or moved.
if ! "$venv/bin/python" -c "$new_enough" >/dev/null 2>&1; then
    python=$(find_python)
    say "… .venv        creating it with $python"
    if ! "$python" -m venv --clear "$venv"; then
        rm -rf "$venv"
        say "Python's venv module does not work here." >&2
        say "Next step: install it (Debian, Ubuntu: apt install python3-venv) and run this again." >&2
        exit 1
    fi
fi
exec "$venv/bin/python" "$(dirname "$0")/install.py" "$1"
