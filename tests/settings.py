"""Settings of the test suite: the product's own, on a temporary data folder."""

import os
import tempfile

os.environ.setdefault("PACA_DATA_DIR", tempfile.mkdtemp(prefix="paca-tests-"))
os.environ.setdefault("SECRET_KEY", "tests-only-0123456789abcdefghijklmnopqrstuvwxyz-0123456789")
os.environ.setdefault("ENCRYPTION_KEY", "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=")

from paca.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
