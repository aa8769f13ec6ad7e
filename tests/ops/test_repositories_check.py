"""Doctor looks for git, starts the broker of repositories, and says what is wrong with them."""

import os
import signal

import pytest

from paca.ops import repositories_check, sandbox_factory
from paca.repositories.broker import host_git, running
from paca.repositories.broker.host_git import HostGit
from paca.sandbox.egress.gates import Gates
from paca.sandbox.egress.repositories import broker_folder
from tests.sandbox.egress.test_gates import pid_of


@pytest.fixture
def root(tmp_path, settings, monkeypatch):
    settings.PACA_DATA_DIR, settings.GIT_MIRRORS_MIB = tmp_path, 100
    monkeypatch.setattr(sandbox_factory, "install_id", lambda: "tests")
    found = broker_folder(Gates(tmp_path, "tests").root)
    yield found
    if (found / "lock").exists() and (pid := pid_of(found)):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.service
def test_doctor_reports_git_the_broker_and_the_mirrors(root, tmp_path, settings):
    (tmp_path / "mirrors" / "a.git").mkdir(parents=True)
    (tmp_path / "mirrors" / "a.git" / "pack").write_bytes(bytes(3 << 20))
    found = repositories_check.check_repositories()
    assert found.state == "ok"
    assert found.meaning.endswith("the broker answers, mirrors take 3 of 100 MiB")
    settings.GIT_MIRRORS_MIB = 0
    assert "no mirrors are kept" in repositories_check.check_repositories().meaning


@pytest.mark.parametrize(
    ("version", "words"), [((2, 36, 1), "git 2.36.1 is too old"), ((), "unknown version")]
)
def test_doctor_asks_for_a_git_that_is_new_enough(root, monkeypatch, version, words):
    async def said(_):
        return version

    monkeypatch.setattr(HostGit, "version", said)
    found = repositories_check.check_repositories()
    assert (found.state, found.next_step) == ("todo", "install git 2.37 or newer")
    assert words in found.meaning


@pytest.mark.parametrize(
    ("there", "words", "next_step"),
    [
        (["setpriv", "prlimit"], "git is not there", "install git 2.37 or newer"),
        (["git", "prlimit"], "setpriv is not there, to bound git", "install util-linux"),
        (["git"], "setpriv and prlimit are not there", "install util-linux"),
    ],
)
def test_doctor_reports_programs_that_are_missing(
    root, tmp_path, monkeypatch, there, words, next_step
):
    for name in there:
        (tmp_path / name).symlink_to("/bin/true")
    monkeypatch.setitem(host_git.ENVIRONMENT, "PATH", str(tmp_path))
    found = repositories_check.check_repositories()
    assert (found.state, found.next_step) == ("todo", next_step)
    assert words in found.meaning


def test_doctor_reports_a_git_that_does_not_run(root, tmp_path, monkeypatch):
    for name, program in (("git", "true"), ("prlimit", "true"), ("setpriv", "false")):
        (tmp_path / name).symlink_to(f"/bin/{program}")
    monkeypatch.setitem(host_git.ENVIRONMENT, "PATH", str(tmp_path))
    found = repositories_check.check_repositories()
    assert (found.state, found.meaning) == ("todo", "git does not run: it was ended")


def test_doctor_reports_a_broker_that_does_not_start(root, monkeypatch):
    monkeypatch.setattr(running, "BOOT_CODE", "raise SystemExit(1)")
    monkeypatch.setattr(running, "START_SECONDS", 0.0)
    found = repositories_check.check_repositories()
    assert (found.state, found.next_step) == ("broken", f"look into {root / 'log'}")
