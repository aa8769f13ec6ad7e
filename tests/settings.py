"""Settings of the test suite: the product's own, on a temporary data folder."""

import os
import tempfile

os.environ.setdefault("PACA_DATA_DIR", tempfile.mkdtemp(prefix="paca-tests-"))
os.environ.setdefault("SECRET_KEY", "tests-only-0123456789abcdefghijklmnopqrstuvwxyz-0123456789")
os.environ.setdefault("ENCRYPTION_KEY", "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=")

from paca.settings import *  # noqa: F403

# A file, as in the product: an in-memory database shared by threads locks by other rules.
DATABASES["default"]["TEST"] = {"NAME": str(PACA_DATA_DIR / "test.sqlite3")}  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Else each test client begins with a walk through all static files.
WHITENOISE_AUTOREFRESH = True
