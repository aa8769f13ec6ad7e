"""Chooses the sandbox backend, opens sandboxes of conversations, and ends those that are not used."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from paca.engine.workspace import SandboxUnavailable, SandboxUnreachable
from paca.sandbox.base import Backend, Sandbox, SandboxSpec
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.docker.backend import DEFAULT_IMAGE, Docker
from paca.sandbox.docker.engine import PREFIX, DockerEngine
from paca.sandbox.docker.warm_sandboxes import WarmSandboxes
from paca.sandbox.egress.booking import UNUSED, Used
from paca.sandbox.egress.gates import Gates
from paca.sandbox.exit_cause import ExitCause
from paca.sandbox.package_caches import PackageCaches

logger = logging.getLogger(__name__)
SWITCHED_OFF = (
    "Commands are switched off on this server (PACA_SANDBOX=none). "
    "Set PACA_SANDBOX=auto to let agents work in a sandbox."
)
# The better backend first.
BACKEND_NAMES = {
    "auto": ("docker", "bubblewrap"),
    "docker": ("docker",),
    "bubblewrap": ("bubblewrap",),
    "none": (),
}


@dataclass(frozen=True, slots=True)
class DockerAddress:
    """A Docker daemon and the image to use there. ``certificates``: the folder with the keys for TLS. ``runtime``: the
    one that starts its containers; empty for its default."""

    host: str = ""
    certificates: str = ""
    image: str = DEFAULT_IMAGE
    runtime: str = ""


class SandboxManager:
    """The sandboxes of one process. ``kind`` is the setting PACA_SANDBOX: auto, docker, bubblewrap or none.

    Without a working backend commands are refused; they never run on the host, nor with a backend
    that the setting does not name. A sandbox that runs nothing and has no worker ends by itself after
    ``idle_seconds``; a persistent one is paused then, and ends ``paused_seconds`` later.
    """

    def __init__(
        self,
        *,
        kind: str,
        data_dir: Path,
        install_id: str,
        idle_seconds: float = 180,
        paused_seconds: float = 3600,
        docker: DockerAddress | None = None,
    ) -> None:
        address = docker or DockerAddress()
        docker_backend = Docker(
            DockerEngine(address.host, address.certificates),
            install_id,
            image=address.image,
            idle_seconds=idle_seconds,
            paused_seconds=paused_seconds,
            runtime=address.runtime,
        )
        self.warm_sandboxes = WarmSandboxes(docker_backend)
        available: dict[str, Backend] = {
            "docker": docker_backend,
            "bubblewrap": Bubblewrap(
                data_dir, install_id, idle_seconds=idle_seconds, paused_seconds=paused_seconds
            ),
        }
        names = BACKEND_NAMES[kind]
        # guard: sandbox-runtime-has-no-substitute
        if address.runtime:
            names = tuple(name for name in names if name == "docker")
        self.backends: Sequence[Backend] = [available[name] for name in names]
        self.gates = Gates(data_dir, install_id)
        self.package_caches = PackageCaches(data_dir, install_id)
        self.fallback_reason = ""  # why the better backend is installed but not used
        self._chosen: Backend | None = None
        self._probed: set[str] = set()
        self._probe_locks = {backend.name: asyncio.Lock() for backend in self.backends}
        self._choice_lock = asyncio.Lock()

    async def unavailable_reason(self) -> str | None:
        """None if commands can run here, else one sentence with the reason and what to do.

        A successful probe is remembered; the quick check of the backend is repeated each time.
        """
        try:
            await self.choose_backend()
        except SandboxUnavailable as reason:
            return reason.detail
        return None

    def adopt_choice(self, other: SandboxManager) -> None:
        """Choose the backend that another manager with the same settings has chosen a moment ago, without a probe."""
        if other._chosen is not None:
            self._chosen = self._backend_named(other._chosen.name)
            self._probed = set(other._probed)
            self.fallback_reason = other.fallback_reason

    async def choose_backend(self, files_backend: str = "") -> Backend:
        """The backend named ``files_backend``, which stores a conversation's files; else the best that works.

        The best is chosen once, so that no new conversation gets a weaker one while Docker restarts.
        Raises ``SandboxUnavailable``, or ``SandboxUnreachable`` if the backend may come back soon.
        """
        if not self.backends:
            raise SandboxUnavailable(SWITCHED_OFF)
        if files_backend:
            backend = self._backend_named(files_backend)
        else:
            async with self._choice_lock:
                backend = self._chosen = self._chosen or await self._first_working()
        await self._probe_once(backend)
        return backend

    async def _probe_once(self, backend: Backend) -> None:
        """Check the backend, and probe it before its first use. Raises ``SandboxUnavailable``."""
        await backend.check()
        if backend.name in self._probed:
            return
        async with self._probe_locks[backend.name]:
            if backend.name not in self._probed:
                await backend.probe()
                self._probed.add(backend.name)

    async def _first_working(self) -> Backend:
        *better, last = self.backends
        for backend in better:
            try:
                await self._probe_once(backend)
            except SandboxUnreachable:  # most machines have no Docker; that is no news
                continue
            except SandboxUnavailable as reason:
                why = reason.detail.removeprefix(PREFIX)
                self.fallback_reason = f"{backend.name.title()} is not used: {why}"
                logger.info("sandbox backend is not used", extra={"reason": reason.detail})
            else:
                return backend
        await self._probe_once(last)
        return last

    def _backend_named(self, name: str) -> Backend:
        for backend in self.backends:
            if backend.name == name:
                return backend
        names = " or ".join(backend.name for backend in self.backends)
        raise SandboxUnavailable(
            f"The files of this conversation are in a sandbox made with {name}, and this server is set "
            f"to {names} (PACA_SANDBOX). Set PACA_SANDBOX=auto to go on here, or begin a new conversation."
        )

    @property
    def active_backend_name(self) -> str:
        """The name of the backend in use, as in events and rows; "none" if commands are switched off."""
        if not self.backends:
            return "none"
        return (self._chosen or self.backends[-1]).name

    @property
    def description(self) -> str:
        """One line for people on the backend in use; empty before one is chosen."""
        return self._chosen.description if self._chosen is not None else ""

    async def open(self, spec: SandboxSpec, *, epoch: int) -> Sandbox:
        """Attach to the conversation's running sandbox, or start one on its kept files.

        Raises ``SandboxUnavailable``, ``SandboxUnreachable`` or ``Superseded``, as ``Backend.open`` does.
        """
        return await (await self.choose_backend(spec.files_backend)).open(spec, epoch=epoch)

    async def with_gate(self, spec: SandboxSpec, *, used: Used = UNUSED) -> SandboxSpec:
        """The spec with the gate of its network, which is opened or gets the policy of now; closed without a network.

        ``used``: what the conversation has used of its budget.

        Raises ``SandboxUnavailable`` if the gate does not start.
        """
        if spec.egress is None:
            await self.gates.close(spec.conversation_id)
            return replace(spec, gate=None)
        gate = await self.gates.open(spec.conversation_id, spec.egress, used=used)
        return replace(spec, gate=gate)

    async def with_cache(self, spec: SandboxSpec) -> SandboxSpec:
        """The spec with the package cache of its project, if it has one and it can be made."""
        if spec.cache_of is None:
            return spec
        try:
            folder = await asyncio.to_thread(self.package_caches.prepare, spec.cache_of)
        except OSError as error:
            logger.warning("package cache cannot be made", extra={"reason": str(error)})
            return spec
        return replace(spec, cache=folder)

    def with_open_gate(self, spec: SandboxSpec) -> SandboxSpec:
        """The spec with the gate that the conversation has or should have, for a sandbox that runs. It opens none."""
        folder = self.gates.folder(spec.conversation_id).inside
        has_gate = spec.egress is not None or folder.is_dir()
        return replace(spec, gate=folder if has_gate else None)

    # --- sweeping ---------------------------------------------------------------------------------

    def per_backend(self) -> list[SandboxManager]:
        """One manager for each backend, so that a sweep of one does not wait for the daemon of the other."""
        managers = [copy.copy(self) for _ in self.backends]
        for manager, backend in zip(managers, self.backends, strict=True):
            manager.backends = [backend]
        return managers

    def list_started(self) -> dict[str, dict[UUID, int]]:
        """By backend name, the sandboxes of this installation that were started, also ended ones.

        Each has the backend's mark of its last use. Backends that cannot be asked now are left out.
        """
        found = {}
        for backend in self.backends:
            try:
                found[backend.name] = backend.list_started()
            except SandboxUnavailable as reason:  # the next sweep finds them
                logger.debug("sandboxes cannot be listed", extra={"reason": reason.detail})
        return found

    async def sweep(
        self, keep: set[UUID], started: dict[str, dict[UUID, int]] | None = None
    ) -> list[UUID]:
        """End the sandboxes of this installation whose conversation is not in ``keep``.

        ``started`` is the result of ``list_started`` from before ``keep`` was read: a sandbox to which a
        worker has attached since is left alone. Raises ``SandboxUnavailable``.
        """
        found = await asyncio.to_thread(self.list_started) if started is None else started
        ended: list[UUID] = []
        for backend in self.backends:
            if backend.name in found:
                marks = None if started is None else found[backend.name]
                ended += await backend.sweep(keep, marks)
        return ended

    def list_workspaces(self) -> dict[str, dict[UUID, str]]:
        """By backend name, the conversations whose files it stores, each with the name of the volume."""
        found = {}
        for backend in self.backends:
            with suppress(SandboxUnavailable):
                found[backend.name] = backend.list_workspaces()
        return found

    def list_warm(self) -> dict[str, str]:
        """The volumes of all sandboxes in warm pools, each with the id of the worker that made it."""
        with suppress(SandboxUnavailable):
            if any(backend.name == "docker" for backend in self.backends):
                return self.warm_sandboxes.list_all()
        return {}

    def remove_leftovers(self) -> int:
        """Remove what ended processes left half-made; gives the number of things."""
        removed = 0
        for backend in self.backends:
            with suppress(SandboxUnavailable):  # the next sweep asks it again
                removed += backend.remove_leftovers()
        return removed

    async def pause(self, conversation_id: UUID, backend_name: str) -> bool:
        """Pause a conversation's sandbox; False if that is not possible now."""
        try:
            return await self._backend_named(backend_name).pause(conversation_id)
        except SandboxUnavailable as reason:
            logger.debug("sandbox cannot be paused", extra={"reason": reason.detail})
            return False

    async def resume(self, conversation_id: UUID, backend_name: str) -> None:
        """Resume a paused sandbox. A failure is ignored, because opening the sandbox resumes it as well."""
        with suppress(SandboxUnavailable):
            await self._backend_named(backend_name).resume(conversation_id)

    async def find_exit_cause(self, conversation_id: UUID, backend_name: str) -> ExitCause | None:
        """Why a conversation's sandbox ended; None while it runs or its backend cannot be asked."""
        try:
            return await self._backend_named(backend_name).find_exit_cause(conversation_id)
        except SandboxUnavailable:
            return None

    async def remove_files(
        self, conversation_id: UUID, backend_name: str, volume: str = ""
    ) -> bool:
        """Remove a conversation's files; False if a sandbox is using them or they cannot be removed now."""
        try:
            return await self._backend_named(backend_name).remove_files(conversation_id, volume)
        except SandboxUnavailable as reason:
            logger.warning("files cannot be removed now", extra={"reason": reason.detail})
            return False

    async def remove(self, conversation_id: UUID, backend_name: str = "", volume: str = "") -> bool:
        """End a conversation's sandbox and remove its files; False if that is not possible here and now."""
        backends = [
            backend for backend in self.backends if not backend_name or backend.name == backend_name
        ]
        self.gates.folder(conversation_id).remove()
        try:
            for backend in backends:
                await backend.remove(conversation_id, volume)
        except SandboxUnavailable as reason:
            logger.warning("files cannot be removed now", extra={"reason": reason.detail})
            return False
        return bool(backends)
