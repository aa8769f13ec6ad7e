"""Take the figures, or the one that ONLY names; exit with 1 if one falls short of its bar."""

from __future__ import annotations

import os
import sys

from tests.bench import ground
from tests.bench.figures import HEADINGS, Figure, row


def main() -> int:
    with ground.prepared() as folder:
        from tests.bench.benches import BENCHES

        only = os.environ.get("ONLY", "")
        if only and only not in BENCHES:
            print(f"ONLY={only} names no figure; there are: {', '.join(BENCHES)}", file=sys.stderr)
            return 2
        print(ground.machine())
        print(row(HEADINGS), flush=True)
        figures = []
        for name in [only] if only else BENCHES:
            figures.append(BENCHES[name](folder))
            print(row(figures[-1].cells()), flush=True)
    return verdict(figures)


def verdict(figures: list[Figure]) -> int:
    """Name what falls short of its bar; the exit code."""
    short = [figure.name for figure in figures if figure.falls_short]
    for name in short:
        print(f"falls short: {name}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
