"""What Paca itself carries over a summary, whatever the model writes: what was asked, and what was touched."""

from __future__ import annotations

from paca.engine.compaction_state import CompactionState
from paca.engine.context.transcript import shorten

NO_SUMMARY = (
    "[No summary of what came before could be made, so it is left out. Look at the files and the"
    " state of your work before you go on.]"
)
TODO_TITLE = "Your to-do list; write it again with write_todo_list when it changes:"


def carried_text(
    state: CompactionState,
    *,
    upto_seq: int,
    characters: int,
    tasks: str = "",
    newest: str = "",
    plan: str = "",
) -> str:
    """The text that follows a summary up to the event ``upto_seq``, of at most so many characters.

    ``tasks`` names the agent's open tasks. ``newest`` is the newest step, if it is replaced too. ``plan`` is the
    plan with the state of each step, and the newest question to people.
    """
    first, last = state.first, state.newest
    parts = []
    if first and first.seq <= upto_seq:
        parts.append(("What was asked first:", first.text))
    if last and last != first and last.seq <= upto_seq:
        parts.append(("The newest message from a person:", last.text))
    if newest:
        parts.append(("The newest step, shortened:", newest))
    # guard: carried-todo-list
    todo = state.todo.in_words()
    lines = [
        f"{TODO_TITLE}\n{todo}" if todo else "",
        plan.strip(),
        _names("Files that you wrote", state.files),
        _names("Skills that were opened; read them again if you need them", state.skills),
        _names("Instructions in the workspace; read them again", state.instructions),
        tasks.strip(),
    ]
    tail = shorten("\n".join(line for line in lines if line), characters // 3)
    left = characters - len(tail) - sum(len(title) + 4 for title, _ in parts)
    share = max(0, left // (len(parts) or 1))
    quotes = [f"{title}\n{shorten(text, share)}" for title, text in parts if share]
    return shorten("\n\n".join([*quotes, tail]).strip(), characters)


def _names(title: str, names: tuple[str, ...]) -> str:
    found = [name for name in names if name]
    return f"{title}: {', '.join(found)}" if found else ""
