"""A Docker daemon of its own for tests that restart, kill or freeze one."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self
from uuid import UUID

from paca.sandbox.docker.backend import DEFAULT_IMAGE
from paca.sandbox.docker.container import RUNNER_LABEL
from paca.sandbox.docker.engine import DockerEngine
from paca.sandbox.runner_bundle import runner_version
from tests.support.flow import wait_until

LENGTH_OF_UUID = 36
# What is copied of the image is what a shell and the runner need: a fifth, and so it takes seconds.
NOT_NEEDED = (
    *("./var", "./usr/share", "./usr/include", "./usr/lib/gcc", "./usr/lib/git-core"),
    *("./usr/lib/python3/dist-packages", "./usr/lib/python3.11/config-*", "./usr/lib/*/perl"),
    *("./usr/lib/*/*.a", "./usr/bin/*-linux-gnu-*"),
)
# As under systemd containerd is a service of its own, which outlives the daemon; and none that the
# machine has, so that the containers of two daemons never meet.
CONTAINERD = """
version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri"]
root = "{data}/containerd"
state = "{run}/containerd"
[grpc]
  address = "{run}/containerd.sock"
"""


class DockerDaemon:
    """A daemon that keeps images and containers over restarts, also with other options."""

    def __init__(self) -> None:
        # A short path: the path of a socket has at most about a hundred characters.
        self._run = Path(tempfile.mkdtemp(prefix="paca-docker-", dir="/run"))
        self._data = Path(tempfile.mkdtemp(prefix="paca-docker-"))
        self._log = (self._data / "log").open("wb")
        self.path = str(self._run / "docker.sock")
        self.address = f"unix://{self.path}"
        self._engine = DockerEngine(self.address)
        self._options: tuple[str, ...] = ()
        self._daemon: subprocess.Popen[bytes] | None = None
        self._containerd: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        configuration = self._run / "containerd.toml"
        configuration.write_text(CONTAINERD.format(data=self._data, run=self._run))
        self._containerd = self._begun("containerd", "--config", str(configuration))
        wait_until((self._run / "containerd.sock").exists, 30)
        self.start()
        self._copy_image()
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self.stop()
        if self._containerd is not None:
            self._containerd.terminate()
            self._containerd.wait(30)
        self._log.close()
        # The daemon mounts its folder onto itself, once more after each kill.
        while (
            subprocess.run(["umount", self._data / "docker"], capture_output=True).returncode == 0
        ):
            pass
        shutil.rmtree(self._run)
        shutil.rmtree(self._data)

    # --- its life ---------------------------------------------------------------------------------

    def start(self, *, live_restore: bool | None = None) -> None:
        """Start it and wait until it answers; do nothing if it runs with these options."""
        options = self._options
        if live_restore is not None:
            options = ("--live-restore",) if live_restore else ()
        if self._daemon is not None:
            if options == self._options:
                return
            self.stop()
        self._options = options
        # In a network namespace of its own: it would remove the bridge of the machine, which others use.
        self._daemon = self._begun(
            *("unshare", "--net", "dockerd", "--host", self.address),
            *("--containerd", f"{self._run}/containerd.sock"),
            *("--data-root", f"{self._data}/docker", "--exec-root", f"{self._run}/exec"),
            *("--pidfile", f"{self._run}/docker.pid"),
            *("--bridge=none", "--iptables=false", "--ip6tables=false", *options),
        )
        wait_until(self._answers, 60, lambda: (self._data / "log").read_text()[-2000:])

    def stop(self) -> float:
        """End it in order; gives the seconds it took."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it hang: it accepts connections and answers nothing."""
        assert self._daemon is not None
        self._daemon.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self._daemon is not None:
            self._daemon.send_signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> float:
        daemon, self._daemon = self._daemon, None
        assert daemon is not None
        began = time.monotonic()
        daemon.send_signal(number)
        daemon.wait(60)
        return time.monotonic() - began

    def _begun(self, *command: str) -> subprocess.Popen[bytes]:
        dies_with_us = ("setpriv", "--pdeathsig", "KILL", *command)
        return subprocess.Popen(dies_with_us, stdout=self._log, stderr=subprocess.STDOUT)

    # --- what is in it ----------------------------------------------------------------------------

    def containers(self) -> list[str]:
        """The conversations that have a container, running or not."""
        return [each["Names"][0][-LENGTH_OF_UUID:] for each in self._containers()]

    def processes(self, conversation_id: UUID) -> str:
        """The command lines of the processes in the conversation's container."""
        (container,) = self._containers_of(conversation_id)
        return str(self._wait(lambda client: client.top(container["Id"]))["Processes"])

    def files_of(self, conversation_id: UUID, name: str) -> list[Path]:
        """Paths on this machine of the files of this name in the conversation's workspace."""
        mounts = [one for each in self._containers_of(conversation_id) for one in each["Mounts"]]
        volumes = self._data / "docker/volumes"
        files = [volumes / mount["Name"] / "_data" / name for mount in mounts if mount.get("Name")]
        return [file for file in files if file.exists()]

    def last_death(self) -> float:
        """Unix time at which a container ended last."""
        span = {"since": 0, "until": time.time(), "filters": {"event": "die"}, "decode": True}
        return (
            max(each["timeNano"] for each in self._wait(lambda client: [*client.events(**span)]))
            / 1e9
        )

    def occupy(self, name: str, *, runs: bool) -> None:
        """Create a container that is not Paca's."""
        config = {
            "Image": DEFAULT_IMAGE,
            "Cmd": ["sleep", "600"],
            "HostConfig": {"NetworkMode": "none"},
        }
        self._wait(lambda client: client.create_container_from_config(config, name))
        if runs:
            self._wait(lambda client: client.start(name))

    def has(self, name: str, *, runs: bool) -> bool:
        """Whether there is a container of this name in this state."""
        return self._wait(lambda client: client.inspect_container(name))["State"]["Running"] is runs

    def build(self, tag: str, dockerfile: str) -> None:
        """Build an image under this name; an image of that name loses it."""
        subprocess.run(
            ["docker", "--host", self.address, "build", "--network=none", "--tag", tag, "-"],
            input=dockerfile.encode(),
            check=True,
            capture_output=True,
            env={**os.environ, "DOCKER_BUILDKIT": "0"},
        )

    def clear(self) -> None:
        """Remove all containers, in whatever state the daemon is."""
        self.thaw()
        self.start(live_restore=False)
        for container in self._containers():
            self._wait(lambda client, id=container["Id"]: client.remove_container(id, force=True))

    def _containers_of(self, conversation_id: UUID) -> list[dict]:
        found = self._containers()
        return [each for each in found if each["Names"][0].endswith(str(conversation_id))]

    def _containers(self) -> list[dict]:
        return self._wait(lambda client: client.containers(all=True))

    def _answers(self) -> bool:
        with contextlib.suppress(Exception):
            return bool(self._wait(lambda client: client.ping()))
        return False

    def _wait(self, work):
        return self._engine.call_sync(work)

    def _copy_image(self) -> None:
        """Copy a small part of the machine's image: the whole takes half a minute."""
        excluded = [f"--exclude={each}" for each in NOT_NEEDED]
        tar = subprocess.Popen(
            ["docker", "run", "--rm", "--network=none", "--log-driver=none", "--user=0"]
            + ["--entrypoint=tar", DEFAULT_IMAGE, "--directory=/", "--one-file-system"]
            + [*excluded, "--create", "."],
            stdout=subprocess.PIPE,
        )
        label = f"LABEL {RUNNER_LABEL}={runner_version()}"
        subprocess.run(
            ["docker", "--host", self.address, "import", "--change", label, "-", DEFAULT_IMAGE],
            stdin=tar.stdout,
            check=True,
            capture_output=True,
        )
        assert tar.stdout is not None
        tar.stdout.close()
        assert tar.wait() == 0
