"""Carries out the requests of a worker, each by its name."""

from __future__ import annotations

import os
import select
import time
from binascii import a2b_base64, b2a_base64

from paca.sandbox.runner import HOME, PROTOCOL_KEY, SHARED_MEMORY, TMP, WORKSPACE
from paca.sandbox.runner.call import Call
from paca.sandbox.runner.call_table import EXHAUSTED, CallTable
from paca.sandbox.runner.command_line import argv_of, encode_all
from paca.sandbox.runner.disk_usage import CountedUsage, QuotaUsage
from paca.sandbox.runner.errors import RequestError, RunnerExhausted
from paca.sandbox.runner.files import WorkspaceFiles
from paca.sandbox.runner.forward import ENVIRONMENT, Forward
from paca.sandbox.runner.memory_usage import MemoryUsage
from paca.sandbox.runner.output import CallOutput
from paca.sandbox.runner.pipe_output import PipeOutput
from paca.sandbox.runner.pipes import Pipes
from paca.sandbox.runner.runner_protection import protect_runner
from paca.sandbox.runner.spawn import (
    environment,
    forbid_tracing,
    open_script,
    set_own_limits,
    spawn,
)
from paca.sandbox.runner.watchdog import Watchdog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Reply = Callable[[Any], None]
    SendUpdate = Callable[[dict[str, Any], bool], bool]

MAX_TIMEOUT_SECONDS = 86_400.0
SPAWN_SECONDS = 3.0
MAX_LOOK_CHARACTERS = 16_384  # of each call
FORM_FIELDS = ("encoding", "line_ends", "changed")
CANNOT_START = "The sandbox could not start this command: {}"


def _open_forward(poll: select.epoll, settings: dict[str, Any]) -> Forward | None:
    """The way to the network gate; None if this sandbox has no network."""
    if not settings.get("has_gate"):
        return None
    try:
        return Forward(poll)
    except OSError:  # commands then find no proxy, and no other way out
        return None


class RequestHandler:
    """Carries out requests on the calls and files of this sandbox.

    ``send_update`` sends an update of a call to the worker and gives False if it was not sent. Its
    second argument says that the update may be left out.
    """

    def __init__(
        self, settings: dict[str, Any], *, poll: select.epoll, send_update: SendUpdate
    ) -> None:
        set_own_limits(settings)
        forbid_tracing()
        disk_fd: int | None = settings.get("disk_fd")
        protect_runner(pinned=not settings["cgroup"], counted=disk_fd is None)
        self._settings = settings
        self._forward = _open_forward(poll, settings)
        proxies = {} if self._forward is None else ENVIRONMENT
        self._environment = encode_all({**environment(settings), **proxies})
        self._null: int = settings["null"]
        self._send_update = send_update
        self._files = WorkspaceFiles(WORKSPACE)
        disk = (CountedUsage if disk_fd is None else QuotaUsage)(WORKSPACE, settings)
        self._calls = CallTable(
            poll=poll,
            on_live=self._send_live_output,
            on_read=lambda call: self._pipes.after_read(call),
            on_end=self._on_call_end,
            oom_kills=settings["oom_kills"],
            disk_is_full=disk.is_full,
        )
        self._watchdog = Watchdog(
            self._calls,
            settings,
            disk=disk,
            disk_fd=self._files.root if disk_fd is None else disk_fd,
            memory=None if settings["cgroup"] else MemoryUsage([TMP, HOME, SHARED_MEMORY]),
        )
        self._pipes = Pipes(poll, send_update)
        self._followed: set[str] = set()
        self._kill_replies: dict[str, list[Reply]] = {}
        self._requests: dict[str, Callable[[dict[str, Any], Reply], None]] = {
            "run": self._run,
            "open": self._open,
            "send": lambda m, reply: self._pipes.send(
                m["call_id"], a2b_base64(m["data"], strict_mode=True), reply
            ),
            "taken": self._taken,
            "follow": self._follow,
            "unfollow": self._unfollow,
            "look": self._look,
            "kill": self._kill,
            "ping": lambda m, reply: reply(None),
            "stat": lambda m, reply: reply(self._files.stat(m["path"])),
            "list": lambda m, reply: reply(self._files.list(m["path"], m["depth"], m["limit"])),
            "read": self._read,
            "read_lines": lambda m, reply: reply(
                self._with_form(self._files.read_lines(m["path"], m["first"], m["count"]))
            ),
            "write": self._write,
            "replace": self._replace,
            "usage": self._usage,
        }

    def handle(self, message: dict[str, Any], reply: Reply) -> None:
        """Carry out a request and call ``reply`` with its result, now or later.

        Raises ``RequestError`` or ``OSError``, and ``LookupError``, ``TypeError`` or ``ValueError`` for a
        malformed request.
        """
        request = self._requests.get(message.get("op", ""))
        if request is None:
            raise RequestError("workspace_error", "This runner does not know the request.")
        request(message, reply)

    @property
    def busy(self) -> bool:
        """Whether a command runs. A process with a pipe is none: it ends with its worker."""
        return self._calls.running.keys() != self._pipes.open.keys()

    def reap(self) -> None:
        """Collect the processes that have ended."""
        self._calls.reap()

    def read_output(self, fd: int) -> None:
        """Read what a command wrote to the pipe ``fd``, or write what it can take."""
        if self._calls.owns(fd):
            self._calls.read_output(fd)
        elif self._pipes.owns(fd):
            self._pipes.handle(fd)
        elif self._forward is not None and self._forward.owns(fd):
            self._forward.handle(fd)

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._calls.running)

    def tick(self, now: float) -> float:
        """Do what is due. Gives the seconds until something is due again."""
        wait = self._calls.tick(now)
        watch = self._watchdog.tick(now)
        return wait if watch is None else min(wait, watch)

    def unfollow(self, calls: set[str], *, last: bool) -> None:
        """Stop sending updates of these calls, because their worker is gone. They continue, but for those with a pipe.

        ``last``: no worker is left.
        """
        self._followed -= calls
        # guard: runner-pipes-end-with-their-worker
        for call_id in [each for each in self._pipes.open if each in calls]:
            self._calls.kill(self._calls.all[call_id], "cancelled")
        if last:
            self._kill_replies.clear()
            self._watchdog.forget_requests()

    # --- calls ------------------------------------------------------------------------------------

    def _run(self, message: dict[str, Any], reply: Reply) -> None:
        call_id: str = message["call_id"]
        # guard: runner-call-table
        if call_id in self._calls.all:
            self._follow(message, reply)
            return
        output = CallOutput(lambda: self._files.create_output_file(call_id))
        call = self._start(message, output)
        reply({"seconds": call.seconds_left})

    def _open(self, message: dict[str, Any], reply: Reply) -> None:
        """Start a process with a pipe. Its id is new: it has no outcome that another worker could want."""
        call_id: str = message["call_id"]
        if call_id in self._calls.all:
            raise RequestError("workspace_error", "A call of this id has been started before.")
        call = self._pipes.start(
            call_id, lambda output, stdin, err: self._start(message, output, stdin, err)
        )
        reply({"seconds": call.seconds_left})

    def _taken(self, message: dict[str, Any], reply: Reply) -> None:
        reply(None)
        self._pipes.taken(message["call_id"])

    def _start(
        self,
        message: dict[str, Any],
        output: CallOutput | PipeOutput,
        stdin: int | None = None,
        err: int | None = None,
    ) -> Call:
        """Start the command of the message and follow it. Raises ``RequestError`` or ``OSError``."""
        call_id: str = message["call_id"]
        argv, script = argv_of(message)
        encoded = self._environment | encode_all({**message["env"], "PACA_CALL": call_id})
        timeout = min(float(message["timeout"]), MAX_TIMEOUT_SECONDS)
        opened: list[int] = []

        def start(out: int) -> int:
            given = self._null if stdin is None else stdin
            files = {"cwd": cwd, "out": out, "null": given, "err": out if err is None else err}
            return self._spawn(
                lambda: spawn(argv, encoded, **files, script=script_fd, limits=self._settings)
            )

        self._followed.add(call_id)
        try:
            opened.append(cwd := self._files.open_folder(message["cwd"]))
            script_fd = None if script is None else open_script(script)
            opened += [] if script_fd is None else [script_fd]
            call = self._calls.start(call_id, timeout, start, output)
        except (RequestError, OSError) as error:
            self._followed.discard(call_id)
            if isinstance(error, OSError) and error.errno in EXHAUSTED:
                raise self._exhausted(error) from error
            raise
        finally:
            for fd in opened:
                os.close(fd)
        return call

    def _spawn(self, start: Callable[[], int]) -> int:
        """Start a command, even if the processes of other commands have reached the container's limit."""
        give_up_at = time.monotonic() + SPAWN_SECONDS
        relieved = False
        while True:
            try:
                return start()
            except BlockingIOError:
                if time.monotonic() > give_up_at:
                    raise
            if not relieved:
                self._watchdog.relieve_process_limit()
                relieved = True
            self.reap()
            self._calls.tick(time.monotonic())
            time.sleep(0.01)

    def _exhausted(self, error: OSError) -> RequestError:
        """The error for a command that could not be started because the runner lacks something.

        Unless other commands run, the sandbox is replaced: it may never start a command again.
        """
        if self.busy:
            return RequestError(
                "workspace_error", f"{CANNOT_START.format(error.strerror)}; wait for one to end."
            )
        return RunnerExhausted(
            f"{CANNOT_START.format(error.strerror)}. It is replaced now: run it again."
        )

    def _follow(self, message: dict[str, Any], reply: Reply) -> None:
        call = self._calls.all.get(message["call_id"])
        if call is None:
            raise RequestError("call_unknown")
        reply({"seconds": call.seconds_left})
        call.output.take_live()
        if text := call.output.text():
            self._send_update({"call": call.id, "text": text}, False)
        if call.ended:
            self._send_outcome(call)
        else:
            self._followed.add(call.id)

    def _unfollow(self, message: dict[str, Any], reply: Reply) -> None:
        """Send no more updates of a call, which goes on."""
        self._followed.discard(message["call_id"])
        reply(None)

    def _look(self, message: dict[str, Any], reply: Reply) -> None:
        """Tell how calls stand, by their id. A call that this runner never started is left out."""
        characters = max(0, min(int(message["characters"]), MAX_LOOK_CHARACTERS))
        known = {
            each: self._calls.all[each] for each in message["call_ids"] if each in self._calls.all
        }
        reply({call_id: call.report(characters) for call_id, call in known.items()})

    def _kill(self, message: dict[str, Any], reply: Reply) -> None:
        call = self._calls.running.get(message["call_id"])
        if call is None:
            reply(None)
            return
        self._kill_replies.setdefault(call.id, []).append(reply)
        self._calls.kill(call, "cancelled")

    def _send_outcome(self, call: Call) -> None:
        outcome = call.outcome()
        if self._settings.get(PROTOCOL_KEY, 1) < 2:  # a worker of an older version
            del outcome["living"], outcome["killed"]
        self._send_update({"call": call.id, "ended": outcome}, False)

    def _send_live_output(self, call: Call) -> None:
        if call.id not in self._followed:
            call.output.take_live()
            return
        if self._send_update({"call": call.id, "text": call.output.live}, True):
            call.output.take_live()

    def _on_call_end(self, call: Call) -> None:
        self._pipes.ended(call)
        if call.id in self._followed:
            if text := call.output.take_live():
                self._send_update({"call": call.id, "text": text}, True)
            self._send_outcome(call)
            self._followed.discard(call.id)
        for reply in self._kill_replies.pop(call.id, ()):
            reply(None)

    # --- files ------------------------------------------------------------------------------------

    def _read(self, message: dict[str, Any], reply: Reply) -> None:
        data = self._files.read(message["path"], message["offset"], message["limit"])
        reply(b2a_base64(data, newline=False).decode("ascii"))

    def _write(self, message: dict[str, Any], reply: Reply) -> None:
        content = a2b_base64(message["content"], strict_mode=True)
        change = self._files.write(
            message["call_id"],
            message["path"],
            content,
            message["expected"],
            keep_form=message.get("keep_form", False),  # an older worker does not say it
        )
        reply(self._with_form(change))

    def _replace(self, message: dict[str, Any], reply: Reply) -> None:
        change = self._files.replace(
            message["call_id"],
            message["path"],
            message["old"],
            message["new"],
            message["every"],
            message["expected"],
        )
        reply(self._with_form(change))

    def _usage(self, message: dict[str, Any], reply: Reply) -> None:
        limit = self._settings["workspace_mib"] << 20
        self._watchdog.request_usage(
            lambda usage: reply({"size": usage.proved, "files": usage.files, "limit": limit})
        )

    def _with_form(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer on a file; a worker of an older version does not know ``FORM_FIELDS``."""
        if self._settings.get(PROTOCOL_KEY, 1) >= 3:
            return answer
        return {key: answer[key] for key in answer if key not in FORM_FIELDS}
