"""Loads a library without the parts of it that Paca never uses."""

import importlib
import sys


def load_without(name: str, *left_out: str) -> None:
    """Load the module while the modules of ``left_out`` seem not to be installed. The library must allow for that."""
    absent = [module for module in left_out if module not in sys.modules]
    for module in absent:
        sys.modules[module] = None  # type: ignore[assignment] # an import of it fails
    try:
        importlib.import_module(name)
    finally:
        for module in absent:
            del sys.modules[module]
