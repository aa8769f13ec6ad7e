"""Checks the URL of a Redis or Valkey and translates it for the client library."""

from urllib.parse import SplitResult, parse_qsl, urlsplit

from paca.common.errors import ConfigurationError

# Valkey's own schemes mean the same.
SCHEMES = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss"}
# Only options about certificates. Paca sets the time limits: they depend on one another.
OPTIONS = {
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_certfile",
    "ssl_check_hostname",
    "ssl_keyfile",
}


def parse(url: str, *, name: str) -> str:
    """The URL with a scheme that the library knows.

    Raises ``ConfigurationError``, which names the variable ``name`` and shows no password.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES or not rest:
        raise ConfigurationError(
            f"{name} begins with {url.partition(':')[0]!r}, which is not a Redis or Valkey.",
            next_step=f"{name}=redis://host:6379/0, or rediss:// if the server speaks TLS; "
            "leave it empty to run in one process.",
        )
    if cause := _find_fault(f"{SCHEMES[scheme]}://{rest}"):
        raise ConfigurationError(
            f"{name} is not a usable URL of a Redis or Valkey: {cause}.",
            next_step=f"{name}=redis://user:password@host:6379/0, where an @ in the password is "
            "written %40, a / %2F, a ? %3F, a # %23 and a % %25.",
        )
    return f"{SCHEMES[scheme]}://{rest}"


def _find_fault(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "its port is not a number up to 65535, or its host cannot be read"
    if not parts.hostname or port == 0:
        return "it names no host" if not parts.hostname else "no server has port 0"
    database = parts.path.strip("/")
    if parts.fragment or "@" in parts.hostname or (database and not database.isdecimal()):
        return "after the host only a port and the number of a database may follow"
    return _find_option_fault(parts)


def _find_option_fault(parts: SplitResult) -> str:
    for option, _ in parse_qsl(parts.query, keep_blank_values=True):
        if option not in OPTIONS:
            return f"there is no parameter {option[:40]}; the known ones are {', '.join(sorted(OPTIONS))}"
        if parts.scheme != "rediss":
            return f"{option} is for rediss://, which speaks TLS"
    return ""
