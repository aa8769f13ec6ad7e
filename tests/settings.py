"""Settings of the test suite: the product's own, on a temporary data folder."""

import os
import tempfile

os.environ.setdefault("PACA_DATA_DIR", tempfile.mkdtemp(prefix="paca-tests-"))
os.environ.setdefault("SECRET_KEY", "tests-only-0123456789abcdefghijklmnopqrstuvwxyz-0123456789")
# Not auto: the backend must not depend on whether this machine has Docker.
os.environ.setdefault("PACA_SANDBOX", "bubblewrap")
# A server that does not listen is a fault here, and not one that still loads its model.
os.environ.setdefault("LLM_LOADING_SECONDS", "0.1")
# The scripted model servers of tests.
os.environ.setdefault("PRIVATE_MODEL_SERVERS", "127.0.0.1:*,localhost:*,[::1]:*")
os.environ.setdefault("PRIVATE_MCP_SERVERS", "127.0.0.1:*,localhost:*,[::1]:*")
os.environ.setdefault("PRIVATE_GIT_SERVERS", "127.0.0.1:*,localhost:*,[::1]:*")
# Scripts of model servers have no reply for a title; the tests of titles switch them on.
os.environ.setdefault("TITLE_MODEL", "off")
os.environ.setdefault("ENCRYPTION_KEY", "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=")

from paca.settings import *  # noqa: F403

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    # A file, as in the product: an in-memory database shared by threads has other locking rules.
    DATABASES["default"]["TEST"] = {"NAME": str(PACA_DATA_DIR / "test.sqlite3")}  # noqa: F405
if REDIS_URL:  # noqa: F405
    # Each process of the suite has a Redis database of its own, so that it gets no triggers of others.
    _process = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    REDIS_URL = f"{REDIS_URL.rpartition('/')[0]}/{_process}"  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Otherwise each test client scans all static files first.
WHITENOISE_AUTOREFRESH = True
