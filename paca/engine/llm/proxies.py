"""The proxies that the environment names for model calls."""

from urllib import request as urllib_request
from urllib.parse import urlsplit

SCHEMES = ("https", "http", "all")


def proxy_for(scheme: str, host: str) -> str:
    """The proxy for addresses with this scheme and host; empty if there is none."""
    proxies = urllib_request.getproxies()
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
    proxies = (proxy_for(scheme, "host.invalid") for scheme in SCHEMES)
    return list(dict.fromkeys(name_of(proxy) for proxy in proxies if proxy))
