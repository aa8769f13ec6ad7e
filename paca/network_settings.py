"""The settings of the network of sandboxes, which ``settings.py`` takes over. Each has its unit in its name."""

from paca import env

__all__ = [
    "PACKAGE_CACHE_MIB",
    "GIT_CA_FILE",
    "GIT_MIRRORS_DAYS",
    "GIT_MIRRORS_MIB",
    "PRIVATE_GIT_SERVERS",
    "PRIVATE_PACKAGE_SERVERS",
    "SANDBOX_NETWORK_MIB",
    "SANDBOX_NETWORK_REQUESTS",
]

PRIVATE_PACKAGE_SERVERS = env.comma_separated(
    "PRIVATE_PACKAGE_SERVERS",
    meaning="Servers in private networks that sandboxes may reach by their name if their project lists it, as "
    "host:port or host:*, comma separated, such as a mirror of packages: by https:// on any port, and to read by "
    "http://. Never those of link-local addresses.",
)
PACKAGE_CACHE_MIB = env.integer(
    "PACKAGE_CACHE_MIB",
    2048,
    at_least=16,
    meaning="The packages that the sandboxes of one project keep together, on each machine, if the project wants that. "
    "The oldest go first.",
)
PRIVATE_GIT_SERVERS = env.comma_separated(
    "PRIVATE_GIT_SERVERS",
    meaning="Git servers in private networks that projects may link, as host:port or host:*, comma separated. They may be"
    " linked by http:// too. Never those of link-local addresses.",
)
SANDBOX_NETWORK_MIB = env.integer(
    "SANDBOX_NETWORK_MIB",
    4096,
    at_least=1,
    meaning="What the sandbox of one conversation may transfer, both ways together.",
)
SANDBOX_NETWORK_REQUESTS = env.integer(
    "SANDBOX_NETWORK_REQUESTS",
    20_000,
    at_least=1,
    meaning="Connections that the sandbox of one conversation may make, refused ones included.",
)
GIT_CA_FILE = env.text(
    "GIT_CA_FILE",
    "",
    meaning="A file with certificates that count for git servers, besides those of the system.",
)
GIT_MIRRORS_MIB = env.integer(
    "GIT_MIRRORS_MIB",
    8192,
    at_least=0,
    meaning="What the copies of repositories on a machine with workers may take together. 0: none are kept.",
)
GIT_MIRRORS_DAYS = env.integer(
    "GIT_MIRRORS_DAYS",
    14,
    at_least=1,
    meaning="The days without use after which the copy of a repository is removed.",
)
