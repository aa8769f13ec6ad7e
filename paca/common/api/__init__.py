"""What the REST APIs of all apps share: errors, pages of lists, idempotent requests."""

import importlib
import sys


def _load_without_requests() -> None:
    """Load REST framework without the HTTP library that only its test client uses: 4 MB in each process."""
    if "requests" in sys.modules:
        return
    sys.modules["requests"] = None  # type: ignore[assignment] # an import of it fails, as if it were not there
    try:
        importlib.import_module("rest_framework.compat")
    finally:
        del sys.modules["requests"]


_load_without_requests()
