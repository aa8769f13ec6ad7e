"""What the terminal client prints: safe text, in colours only where they help."""

from __future__ import annotations

from typing import TextIO

from paca.common.visible_text import visible

MAX_HELD_CHARACTERS = 1_000_000
STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33"}


class Screen:
    """Writes lines and pieces of lines. Text of others is made visible before it is written."""

    def __init__(self, out: TextIO, notes: TextIO, *, colours: bool) -> None:
        """``out`` gets what the agent says, ``notes`` what the client says."""
        self._out, self._notes, self._colours = out, notes, colours
        self._at_line_start = True
        self._held: list[str] | None = None
        self._held_characters = 0

    def piece(self, text: str, style: str = "") -> None:
        """A piece of a line, or of several."""
        self._write(self._styled(visible(text), style), ends_line=text.endswith("\n"))

    def line(self, text: str, style: str = "") -> None:
        """A line of its own."""
        self.end_line()
        self._write(self._styled(visible(text), style) + "\n", ends_line=True)

    def note(self, text: str, style: str = "dim") -> None:
        """A line of the client itself, which is no part of an answer."""
        if self._notes is self._out:
            self.line(text, style)
            return
        self._notes.write(self._styled(visible(text), style) + "\n")
        self._notes.flush()

    def prompt(self, text: str) -> None:
        """A prompt before which what was begun is ended."""
        self.end_line()
        self._out.write(self._styled(visible(text), "bold"))
        self._out.flush()

    def end_line(self) -> None:
        """Begin a new line, unless it is one."""
        if not self._at_line_start:
            self._write("\n", ends_line=True)

    def typed(self) -> None:
        """A person has pressed Enter: the cursor is at the start of a line."""
        self._at_line_start = True

    def hold(self) -> None:
        """Keep what is written until ``release``: a person is typing an answer."""
        if self._held is None:
            self._held, self._held_characters = [], 0

    def release(self) -> None:
        """Write what was kept."""
        held, self._held = self._held, None
        self._out.write("".join(held or ()))
        self._out.flush()

    def _styled(self, text: str, style: str) -> str:
        if not self._colours or not style or not text:
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def _write(self, text: str, *, ends_line: bool) -> None:
        if not text:
            return
        self._at_line_start = ends_line
        if self._held is not None:
            self._held.append(text)
            self._held_characters += len(text)
            if self._held_characters > MAX_HELD_CHARACTERS:
                self.release()
            return
        self._out.write(text)
        self._out.flush()
