"""Asks a Redis whether Paca can use it, and which of its settings endanger waiting entries."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)

from paca.bus.redis import names
from paca.bus.redis.connection import connect

MIN_VERSION = (6, 2)
NEARLY_FULL = 0.9
# Redis looks at the rights, its role, its memory and its disk before it looks at the id, which no
# stream can have. So this shows whether it accepts entries, and adds none.
PROBED_STREAMS = (names.TRIGGERS, names.EVENTS)
IMPOSSIBLE_ID = "0-0"
IMPOSSIBLE_ID_REFUSED = "The ID specified in XADD must be greater than 0-0"


@dataclass(frozen=True, slots=True)
class RedisFault:
    """Why Paca cannot use Redis. ``meaning`` names no address; ``detail`` is Redis's own message.

    ``for_good``: the setting is wrong, so waiting does not help.
    """

    meaning: str
    next_step: str
    detail: str = ""
    for_good: bool = False


def find_fault(url: str) -> RedisFault | None:
    """Why Paca cannot use this Redis; None if it can. Asks once, on a connection of its own."""
    try:
        with closing(connect(url, name="paca-health")) as client:
            return _find_refusal(client)
    except AuthenticationError as error:
        return RedisFault(
            "rejects the user or the password",
            "correct them in REDIS_URL=redis://user:password@host:6379/0; an @ in the password is "
            "written %40, a / %2F",
            str(error),
            for_good=True,
        )
    except NoPermissionError as error:
        return _explain(error)
    except ResponseError as error:  # such as a number of a database that it does not have
        return RedisFault("refuses the connection", "correct REDIS_URL", str(error), for_good=True)
    except (redis.RedisError, OSError) as error:
        return RedisFault("does not answer", "start Redis, or correct REDIS_URL", str(error))


def find_risks(url: str) -> list[tuple[str, str]]:
    """What endangers entries that wait in this Redis, each with the next step. Asks once."""
    try:
        with closing(connect(url, name="paca-health")) as client:
            memory: Any = client.info("memory")
    except (redis.RedisError, OSError):  # `find_fault` reports it, or a hosted Redis does not tell
        return []
    found = []
    policy, most = memory.get("maxmemory_policy", ""), int(memory.get("maxmemory", 0))
    if policy.startswith("allkeys"):
        found.append(
            (
                f"its maxmemory-policy is {policy}: a full Redis drops messages that wait for a worker",
                "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf",
            )
        )
    if most and memory.get("used_memory", 0) > NEARLY_FULL * most:
        found.append(
            (
                f"its memory is nearly full: {memory['used_memory_human']} of "
                f"{memory['maxmemory_human']}",
                "raise maxmemory, or find what fills it: redis-cli --bigkeys",
            )
        )
    return found


def _find_refusal(client: redis.Redis) -> RedisFault | None:
    """Why Redis accepts no entries or messages of Paca, or is too old for its commands.

    The message on the control channel names no conversation, so every process ignores it.
    """
    probe = client.pipeline(transaction=False)
    for stream in PROBED_STREAMS:
        probe.xadd(stream, {"probe": "1"}, id=IMPOSSIBLE_ID)
    probe.eval("return 1", 1, names.TRIGGERS)
    probe.publish(names.CONTROL_CHANNEL, "{}")
    probe.info("server")
    *answers, server = probe.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, ResponseError) and IMPOSSIBLE_ID_REFUSED not in str(answer):
            return _explain(answer)
        if isinstance(answer, redis.RedisError) and not isinstance(answer, ResponseError):
            raise answer
    return _find_old_version(server)


def _find_old_version(server: Any) -> RedisFault | None:
    """A fault if Redis tells a version that lacks commands. A hosted Redis may tell none."""
    version = str(server.get("redis_version", "")) if isinstance(server, dict) else ""
    numbers = [int(part) for part in version.split(".") if part.isdecimal()]
    if not numbers or tuple(numbers) >= MIN_VERSION:
        return None
    return RedisFault(
        f"is version {version}, and Paca needs 6.2 or newer",
        "update Redis, or use another one: REDIS_URL=redis://user:password@host:6379/0",
        "commands are missing",
        for_good=True,
    )


def _explain(refusal: ResponseError) -> RedisFault:
    detail = str(refusal)
    match refusal:
        case OutOfMemoryError():
            return RedisFault(
                "refuses writes (OOM: its memory is full)",
                "raise maxmemory, or find what fills it: redis-cli --bigkeys",
                detail,
            )
        case ReadOnlyError():
            return RedisFault(
                "refuses writes (READONLY: it is a replica)",
                "use the address of its primary server in REDIS_URL",
                detail,
            )
        case NoPermissionError():
            return RedisFault(
                "refuses writes (NOPERM: its user may not)",
                "allow the user of REDIS_URL the keys and channels of Paca: "
                "ACL SETUSER name ~paca:* &paca.* +@all -@admin",
                detail,
                for_good=True,
            )
    code = detail.partition(" ")[0].rstrip(":")
    if code == "MISCONF":
        return RedisFault(
            "refuses writes (MISCONF: it cannot save to its disk)",
            "free the disk of Redis and look at its log",
            detail,
        )
    named = f" ({code})" if code.isupper() and code.isalpha() else ""
    return RedisFault(f"refuses writes{named}", "look at the log of Redis", detail)
