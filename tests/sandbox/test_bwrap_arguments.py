"""The user that a bubblewrap sandbox runs as."""

import uuid

from paca.sandbox.bubblewrap import bwrap_arguments


def test_each_conversation_has_its_own_user_if_paca_is_root(monkeypatch):
    monkeypatch.setattr(bwrap_arguments.os, "geteuid", lambda: 0)
    found = {bwrap_arguments.user_for(uuid.uuid4()).uid for _ in range(200)}
    assert len(found) == 200
    assert min(found) > 1_000_000
    monkeypatch.setattr(bwrap_arguments, "_is_mapped", lambda uid: uid < 65_536)
    small = bwrap_arguments.user_for(uuid.uuid4())
    assert 1000 < small.uid < 65_000
    assert small.drop_privileges


def test_the_user_of_sandboxes_is_pacas_own_without_root(monkeypatch):
    monkeypatch.setattr(bwrap_arguments.os, "geteuid", lambda: 1234)
    monkeypatch.setattr(bwrap_arguments.os, "getegid", lambda: 1235)
    assert bwrap_arguments.user_for(uuid.uuid4()) == bwrap_arguments.SandboxUser(
        1234, 1235, drop_privileges=False
    )
