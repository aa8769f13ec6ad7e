"""Cases in which Python and JavaScript must give the same avatars."""

import json
from pathlib import Path
from typing import Any

from paca.web import avatars

FILE = Path(__file__).parent / "js" / "cases.json"
IDS = ("", "a", "agent-rosa", "0191e8a2-7c1d-7e3f-8a4b-5c6d7e8f9a0b", "Ünï¢ødé 🦙")
NAMES = (
    "Ada Okafor",
    "ada",
    "  Jean  Luc  Picard ",
    "",
    "élodie",
    "李 小龙",
    "\u202egpj.exe <b>",
    "(x) - 7up",
)


def cases() -> dict[str, Any]:
    return {
        "members": [
            {"id": each, "tone": avatars.avatar_tone(each), "cells": avatars.identicon_cells(each)}
            for each in (*IDS, *(f"agent-{number}" for number in range(40)))
        ],
        "initials": [[name, avatars.initials(name)] for name in NAMES],
    }


def as_text() -> str:
    return json.dumps(cases(), indent=0, ensure_ascii=True) + "\n"
