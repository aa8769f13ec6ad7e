#!/bin/sh
# Makes .venv and installs a locked list of packages into it, hash-checked; does nothing while
# the list is unchanged. Usage: scripts/venv.sh requirements.txt
set -eu
lock=$1
venv=.venv
stamp=$venv/installed-$(basename "$lock").sha256

say() { printf '%s\n' "$*"; }

find_python() {
    for name in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    say "Paca needs Python 3.11 or newer, and there is none on your PATH." >&2
    say "Next step: install it (Debian, Ubuntu: apt install python3 python3-venv), or name it:" >&2
    say "  make run PYTHON=/path/to/python3.11" >&2
    exit 1
}

make_venv() {
    # A folder whose interpreter has gone (a removed or moved Python) is as good as none.
    if "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    say "✓ Python       $("$python" -c 'import platform; print(platform.python_version())') ($python)"
    say "… .venv        making it"
    if ! "$python" -m venv --clear "$venv"; then
        rm -rf "$venv"
        say "Python's venv module does not work here." >&2
        say "Next step: install it (Debian, Ubuntu: apt install python3-venv) and run this again." >&2
        exit 1
    fi
}

# Hashed by Python itself: sha256sum is not everywhere.
hash_of_lock() {
    "$venv/bin/python" -c 'import hashlib, sys
print(hashlib.sha256(b"".join(open(name, "rb").read() for name in sys.argv[1:])).hexdigest())' "$@"
}

make_venv
wanted=$(hash_of_lock "$lock")
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
say "… Packages     installing $(grep -c '==' "$lock") from $lock, each checked against its hash (once, about a minute)"
if ! "$venv/bin/python" -m pip install --require-hashes --disable-pip-version-check \
    --no-input --compile --requirement "$lock"; then
    say "The packages of $lock could not be installed; pip says why above." >&2
    say "Next step: check the network (or your pip configuration) and run this again." >&2
    exit 1
fi
printf '%s\n' "$wanted" >"$stamp"
say "✓ Packages     installed"
