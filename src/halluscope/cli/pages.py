"""The help of a command as a page of plain text: what one types on the left, what it means on the right."""

import io
import re
import textwrap
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from cyclopts import App

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

NARROWEST = 40
WIDEST = 100
LEFT = 26  # where the right column begins

# Nothing is wrapped but by this module.
ENDLESS = 100_000


def page(app: App, words: "Sequence[str]") -> str:
    """Return the help of the command that the words name."""
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=ENDLESS, no_color=True, force_terminal=False)
    app.help_print(list(words), console=console)
    text = re.sub(" +\n", "\n", file.getvalue())
    return re.sub("\n{3,}", "\n\n", text).strip()


class Formatter:
    """Prints the parts of a page."""

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:
        if not panel.entries:
            return
        lines = [f"{panel.title}:"]
        for entry in panel.entries:
            lines += beside(name_of(entry), meaning_of(entry, console))
        _print(console, lines)

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        _print(console, wrapped(f"Usage: {plain(usage, console)}", " " * 4))

    def render_description(self, console: "Console", options: "ConsoleOptions", description: Any) -> None:
        for paragraph in plain(description, console).split("\n\n"):
            lines = paragraph.splitlines()
            if paragraph.lstrip().startswith("halluscope "):  # commands
                lines = [f"  {line.strip()}" for line in lines]
            else:
                lines = wrapped(" ".join(lines))
            _print(console, lines)


def name_of(entry: "HelpEntry") -> str:
    """Return what one types for an option or a command."""
    return ", ".join(entry.display_labels_with_metavar)


def meaning_of(entry: "HelpEntry", console: "Console") -> str:
    meaning = plain(entry.description, console)
    if entry.choices:
        meaning += f" [{', '.join(entry.choices)}]"
    return meaning


def plain(part: Any, console: "Console") -> str:
    """Return what a part of a page says, without any style."""
    if not part:
        return ""
    return "".join(segment.text for segment in console.render(part)).strip("\n")


def width() -> int:
    """Return how wide a page is: as wide as the terminal, within reason."""
    return min(max(get_terminal_size().columns, NARROWEST), WIDEST)


def wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def beside(name: str, meaning: str) -> list[str]:
    """Return a name and its meaning in two columns; a long name has a line of its own."""
    left = f"  {name}"
    right = textwrap.wrap(meaning, width() - LEFT, break_long_words=False, break_on_hyphens=False)
    lines = [left]
    if right and len(left) < LEFT - 1:
        lines = [left.ljust(LEFT) + right.pop(0)]
    for line in right:
        lines.append(" " * LEFT + line)
    return lines


def _print(console: "Console", lines: "Sequence[str]") -> None:
    """Print lines, and an empty one below them."""
    text = "\n".join(lines) + "\n"
    console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)
