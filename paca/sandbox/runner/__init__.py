"""The program inside a sandbox, its process 1: starts commands, touches files, answers one worker.

Standard library only, and sparing with it, for a start is bound by imports: ``typing``, ``json``,
``socket``, ``selectors``, ``signal``, ``enum``, ``re`` and ``dataclasses`` take longer than bwrap
and stay out of its way (their halves in C do not); what only requests need is loaded when the
first worker has its welcome.
"""

HOME = "/home/agent"
WORKSPACE = "/workspace"
TMP, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - inside, where they are the sandbox's own
