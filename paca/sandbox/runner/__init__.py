"""The runner: the program inside a sandbox and its process 1. It runs commands and reads and writes files
for the attached worker.

The runner uses only the standard library, and little of it, because imports take most of the start:
``typing``, ``json``, ``socket``, ``selectors``, ``signal``, ``enum``, ``re`` and ``dataclasses`` take longer
than bwrap itself. Their parts written in C are used instead. Modules that only requests need are loaded
after the first worker has attached.
"""

HOME = "/home/agent"
WORKSPACE = "/workspace"
CACHE = "/cache"  # of packages, which the sandboxes of a project share
# The key of the seconds after which a runner without a worker ends itself. Runners that an older version
# started still read this key, so it never changes.
UNATTENDED_SECONDS_KEY = "orphan_seconds"
TMP, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - each sandbox has its own
# What a worker says of itself when it attaches. A worker that does not say it has protocol 1.
# Protocol 2: the outcome of a command names its processes that live on and those that were ended.
# Protocol 3: answers on files name the encoding and the line ends, and whether a write changed anything.
PROTOCOL_KEY, PROTOCOL = "protocol", 3
# The session of an attachment: the helper whose worker attaches, empty for the conversation itself.
SESSION_KEY = "session"
EXHAUSTED_EXIT_CODE = 75  # of a runner that can start no command any more
