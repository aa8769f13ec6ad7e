"""A Redis that refuses Paca stops the start, as a PostgreSQL does."""

import pytest

from tests.installation.manage_process import Installation
from tests.installation.test_refusals import assert_refused
from tests.support.postgres_server import PostgresServer
from tests.support.split_deployment import SECRETS
from tests.support.valkey_server import running

pytestmark = pytest.mark.service


def test_start_with_a_wrong_redis_password_is_refused_and_creates_nothing(
    installation: Installation, postgres: PostgresServer
):
    given = {"DATABASE_URL": postgres.url_of("postgres"), **SECRETS}
    with running() as valkey:
        with valkey.client() as client:
            client.config_set("requirepass", "right")
        url = valkey.url.replace("redis://", "redis://:hush@")
        for command, settings in ((("up",), {}), (("run_worker",), given)):
            ended = installation.run(*command, REDIS_URL=url, **settings)
            assert_refused(ended, "rejects the user or the password", "correct them in REDIS_URL")
            assert "hush" not in ended.stdout + ended.stderr
            assert f"127.0.0.1:{valkey.port}" in ended.stderr
        assert not installation.data.exists()
