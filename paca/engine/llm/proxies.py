"""The proxies that the environment names for model calls."""

from collections.abc import Mapping
from urllib import request as urllib_request
from urllib.parse import urlsplit

SCHEMES = ("https", "http", "all")


def of_environment() -> Mapping[str, str]:
    """The proxy of each scheme. It reads every variable of the environment, which takes a while."""
    return urllib_request.getproxies()


def proxy_for(scheme: str, host: str, proxies: Mapping[str, str]) -> str:
    """The one of these proxies for addresses with this scheme and host; empty if there is none."""
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if not proxy or urllib_request.proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def name_of(proxy: str) -> str:
    """Host and port of a proxy, without its password."""
    parts = urlsplit(proxy)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def in_use() -> list[str]:
    """Host and port of each proxy of the environment."""
    known = of_environment()
    found = (proxy_for(scheme, "host.invalid", known) for scheme in SCHEMES)
    return list(dict.fromkeys(name_of(proxy) for proxy in found if proxy))
