"""The runner and the copy of /etc that are put into sandboxes."""

from paca.sandbox import runner_bundle


def test_the_runner_is_compiled_once_and_ships_no_source(tmp_path):
    first = runner_bundle.prepare_runner(tmp_path)
    stamp = first.stat().st_ctime_ns
    assert runner_bundle.prepare_runner(tmp_path) == first
    assert first.stat().st_ctime_ns == stamp
    assert [path.name for path in tmp_path.iterdir()] == [first.name]
    assert not list(first.rglob("*.py"))
    assert (first / "lib/paca/sandbox/runner/main.pyc").exists()


def test_the_copy_of_etc_contains_only_files_that_everybody_may_read(tmp_path, monkeypatch):
    host = tmp_path / "etc"
    (host / "ssl" / "private").mkdir(parents=True)
    (host / "ssl" / "certs").mkdir()
    (host / "ssl" / "certs" / "ca.pem").write_text("public")
    (host / "ssl" / "certs" / "link.pem").symlink_to("ca.pem")
    (host / "ssl" / "private" / "key.pem").write_text("secret")
    (host / "ssl" / "half.key").write_text("secret")
    (host / "shadow").write_text("secret")
    (host / "ssl" / "private").chmod(0o710 & ~0o001)
    (host / "ssl" / "half.key").chmod(0o640)
    (host / "services").write_text("http 80/tcp")
    monkeypatch.setattr(runner_bundle, "ETC", host)
    (tmp_path / "run").mkdir()
    made = runner_bundle.prepare_etc(tmp_path / "run")
    assert runner_bundle.prepare_etc(tmp_path / "run") == made
    found = {str(path.relative_to(made)) for path in made.rglob("*") if not path.is_dir()}
    assert found == {
        "ssl/certs/ca.pem",
        "ssl/certs/link.pem",
        "services",
        *runner_bundle.ETC_WRITTEN,
    }
    assert (made / "ssl/certs/link.pem").read_text() == "public"
