"""Cases in which Python and JavaScript must give the same avatars and the same state labels."""

import itertools
import json
from pathlib import Path
from typing import Any

from paca.web import avatars, labels

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
    reasons = ("", *labels.REASONS)
    return {
        "members": [
            {"id": each, "tone": avatars.avatar_tone(each), "cells": avatars.identicon_cells(each)}
            for each in (*IDS, *(f"agent-{number}" for number in range(40)))
        ],
        "initials": [[name, avatars.initials(name)] for name in NAMES],
        "states": [
            {
                "status": status,
                "reason": reason,
                "label": s.label,
                "icon": s.icon,
                "shown_reason": s.reason,
            }
            for status, reason in itertools.product(labels.STATUSES, reasons)
            for s in [labels.state_of(status, reason)]
        ],
    }


def as_text() -> str:
    return json.dumps(cases(), indent=0, ensure_ascii=True) + "\n"
