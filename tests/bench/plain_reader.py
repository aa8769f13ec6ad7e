"""The baseline of a trigger: a bare XREADGROUP in a process of its own, which says when each entry came."""

import sys
import time

import redis


def main(url: str, count: str) -> None:
    client = redis.Redis.from_url(url, protocol=2, socket_timeout=None)
    client.xgroup_create("plain", "readers", id="0", mkstream=True)
    print("ready", flush=True)
    for _ in range(int(count)):
        ((_, ((entry, _fields),)),) = client.xreadgroup(
            "readers", "reader", {"plain": ">"}, count=1, block=60_000
        )
        came = time.monotonic()
        client.xack("plain", "readers", entry)
        print(came, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
