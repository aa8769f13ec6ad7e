"""Redis URLs: the accepted ones, and the refused ones with the next step."""

import pytest

from paca.common import redis_urls
from paca.common.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("redis://cache", "redis://cache"),
        ("redis://cache:6379/0", "redis://cache:6379/0"),
        ("redis://user:p%40ss@cache:6379/3", "redis://user:p%40ss@cache:6379/3"),
        ("redis://:pass@[::1]:6379", "redis://:pass@[::1]:6379"),
        ("valkey://valkey:6379/0", "redis://valkey:6379/0"),
        ("valkeys://valkey", "rediss://valkey"),
        ("rediss://cache?ssl_ca_certs=/etc/ca.pem", "rediss://cache?ssl_ca_certs=/etc/ca.pem"),
    ],
)
def test_redis_url_is_translated_for_the_library(given, read):
    assert redis_urls.parse(given, name="REDIS_URL") == read


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ("cache:6379", "begins with 'cache'"),
        ("http://cache", "begins with 'http'"),
        ("redis://", "begins with 'redis'"),
        ("unix:///run/redis.sock", "begins with 'unix'"),
        ("redis://:6379", "names no host"),
        ("redis://cache:port", "its port is not a number"),
        ("redis://cache:70000", "its port is not a number"),
        ("redis://cache:0", "no server has port 0"),
        ("redis://user:hu/sh@cache", "its port is not a number"),
        ("redis://cache/hush", "number of a database"),
        ("redis://cache/0#hush", "number of a database"),
        ("redis://[::1", "cannot be read"),
        ("redis://cache?socket_timeout=9", "there is no parameter socket_timeout"),
        ("redis://cache?ssl_ca_certs=/x", "ssl_ca_certs is for rediss://"),
    ],
)
def test_malformed_redis_url_is_refused_and_its_password_not_shown(given, cause):
    with pytest.raises(ConfigurationError) as refused:
        redis_urls.parse(given, name="REDIS_URL")
    assert cause in refused.value.detail
    assert refused.value.detail.startswith("REDIS_URL ")
    assert "redis://" in str(refused.value.facts["next_step"])
    assert "hu" not in refused.value.detail.replace("number", "")
