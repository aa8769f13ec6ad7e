"""The list of tests that run on PostgreSQL and Valkey forgets no file, and names no file or test that is gone."""

from pathlib import Path

from tests.on_services import CHOSEN, LEFT_OUT

ROOT = Path(__file__).resolve().parent.parent
LISTED_FOLDERS = ("flows", "realtime", "worker")


def test_services_run_or_leave_out_each_file_of_the_listed_folders():
    files = {
        str(path.relative_to(ROOT))
        for folder in LISTED_FOLDERS
        for path in (ROOT / "tests" / folder).rglob("test_*.py")
    }
    chosen = {each.partition("::")[0] for each in CHOSEN}
    assert not chosen & LEFT_OUT.keys()
    assert files - chosen - LEFT_OUT.keys() == set(), "choose it, or give the reason in LEFT_OUT"
    assert LEFT_OUT.keys() <= files


def test_services_choose_only_files_and_tests_that_exist():
    for each in CHOSEN:
        file, _, test = each.partition("::")
        assert (ROOT / file).exists(), each
        assert not test or f"def {test}(" in (ROOT / file).read_text("utf-8"), each
