"""The part of ``signal`` that is written in C: the module itself imports ``enum``, which is slow."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import (
        SIG_IGN,
        SIGCHLD,
        SIGHUP,
        SIGINT,
        SIGKILL,
        SIGPIPE,
        SIGSTOP,
        SIGTERM,
        set_wakeup_fd,
        signal,
    )
else:
    from _signal import (
        SIG_IGN,
        SIGCHLD,
        SIGHUP,
        SIGINT,
        SIGKILL,
        SIGPIPE,
        SIGSTOP,
        SIGTERM,
        set_wakeup_fd,
        signal,
    )

__all__ = [
    "SIGCHLD",
    "SIGHUP",
    "SIGINT",
    "SIGKILL",
    "SIGPIPE",
    "SIGSTOP",
    "SIGTERM",
    "SIG_IGN",
    "set_wakeup_fd",
    "signal",
]
