"""The rows of the bench by name; the name ends in the set-up if there are several."""

from __future__ import annotations

from typing import NamedTuple

DATABASES = ("sqlite", "postgresql")


class Row(NamedTuple):
    """The function of this package that measures the figure, and the database it needs."""

    function: str
    database: str = "sqlite"


def _on_each_database(name: str, function: str) -> dict[str, Row]:
    return {f"{name}-{database}": Row(function, database) for database in DATABASES}


ROWS = {
    **_on_each_database("turn", "turns.cpu_per_turn"),
    **_on_each_database("late-turn", "turns.late_turn"),
    **_on_each_database("many", "many.many"),
    **_on_each_database("trigger", "triggers.to_first_byte"),
    **_on_each_database("ack", "acknowledging.message_to_acknowledgement"),
    **_on_each_database("memory", "memory.idle"),
    "start": Row("later_start.until_it_answers"),
    # A project of 10,000 tasks.
    "tasks-list": Row("project_reads.task_list", "postgresql"),
    "tasks-board": Row("project_reads.board", "postgresql"),
    "tasks-search": Row("project_reads.search_words", "postgresql"),
    "tasks-timeline": Row("project_reads.timeline", "postgresql"),
    # A board in a browser.
    "board-scroll": Row("big_board.scroll"),
    "board-drag": Row("big_board.drag"),
    "board-drop": Row("big_board.drop"),
    # The files of a sandbox, from the API to the sandbox and back.
    **_on_each_database("file-panel", "file_panel.first_page"),
    "file-panel-whole": Row("file_panel.whole"),
    # These use no database.
    "prompt-cache": Row("context_cost.twenty_turns"),
    "trimming": Row("context_cost.batched_trimming"),
    "echo-bubblewrap": Row("commands.echo"),
    "echo-docker": Row("containers.echo"),
    "sandbox-bubblewrap": Row("starting.sandbox"),
    "sandbox-docker": Row("containers.ready"),
    "pool-docker": Row("containers.warm_start"),
    "removal-docker": Row("containers.removal"),
    "download-bubblewrap": Row("downloading.through_the_gate"),
    "viewers": Row("viewers.one_stream"),
    "clone-server": Row("cloning.from_the_server"),
    "clone-mirror": Row("cloning.from_the_mirror"),
}


def chosen(only: str) -> list[str]:
    """The row of this name, those of this name on any set-up, or all."""
    return [name for name in ROWS if only in ("", name, name.rpartition("-")[0])]
