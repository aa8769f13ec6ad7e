"""The certificate of a git server is checked, for what is passed on and for mirrors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from paca.repositories.broker.host_git import GitFailed
from paca.repositories.broker.upstream import ServerProblem
from tests.repositories.broker.world import BrokerWorld
from tests.support.tls_proxy import TlsProxy

pytestmark = pytest.mark.anyio


@pytest.fixture
def proxy(tmp_path: Path, world: BrokerWorld) -> Iterator[TlsProxy]:
    """The server of the repository, reached over TLS."""
    with TlsProxy(tmp_path, world.server.port) as proxy:
        world.with_mirror()
        world.route = replace(
            world.route,
            url=f"https://127.0.0.1:{proxy.port}/app.git",
            private=(f"127.0.0.1:{proxy.port}",),
        )
        yield proxy


async def test_server_with_an_unknown_certificate_gets_no_credential(
    world: BrokerWorld, proxy: TlsProxy
) -> None:
    code, output = await world.git("clone", world.url, "c")
    assert code != 0
    assert "its certificate is not valid" in output
    with pytest.raises(ServerProblem, match="its certificate is not valid"):
        await world.mirrors.fill(world.route)
    assert not world.server.requests


async def test_git_on_the_host_gives_no_credential_for_an_unknown_certificate(
    world: BrokerWorld, proxy: TlsProxy
) -> None:
    await world.mirrors.fill(replace(world.route, ca_file=str(proxy.certificate)))
    world.server.requests.clear()
    with pytest.raises(GitFailed, match="certificate"):
        await world.mirrors.update(world.route)
    assert not world.server.requests


async def test_certificate_of_the_operator_counts(world: BrokerWorld, proxy: TlsProxy) -> None:
    world.route = replace(world.route, ca_file=str(proxy.certificate))
    await world.mirrors.fill(world.route)
    assert ((await world.clone()) / "README.md").exists()
    world.route = replace(world.route, mirror="")
    assert ((await world.clone(to="direct")) / "README.md").exists()
