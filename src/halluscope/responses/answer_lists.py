"""Reads responses from text files without a header, of which a folder holds one per part of a benchmark.

Each line holds an image, a question, its right answer and the response, divided by tabs.
"""

from collections.abc import Iterator
from pathlib import Path

from halluscope.errors import BuildError
from halluscope.files.opening import read_text
from halluscope.reading.tables import Located
from halluscope.responses.names import KNOWN
from halluscope.sanitize import short_repr, typed

ENDING = ".txt"
COLUMNS = ("image", "question", "label", "response")
TAB = "\t"


def files_at(path: Path) -> list[Path]:
    """Return the text files in a folder, in the order of their names; a path that is no folder as it is."""
    if not path.is_dir():
        return [path]
    files = sorted(path.glob(f"*{ENDING}"))
    for file in files:
        if not is_answer_list(file):
            raise BuildError(
                f"{file} does not begin with an image, a question, its right answer and a response, divided by tabs; "
                f"expected such text files alone in {path}. Move it elsewhere, or name the files: NAME=FILE,FILE."
            )
    if not files:
        raise BuildError(
            f"{path} is a folder; expected a file of responses. Name a file; or join the files, if they are parts of "
            "one LVLM's responses: --responses NAME=FILE,FILE; or score each file of the folder: "
            f"`{typed(['score', '--responses', str(path), '--out', 'FOLDER'])}`."
        )
    return files


def is_folder_of_lists(path: Path) -> bool:
    """Whether a folder holds such text files, and nothing else."""
    files = list(path.iterdir())
    return bool(files) and all(map(is_answer_list, files))


def is_answer_list(file: Path) -> bool:
    """Whether a file has this form, as far as its first line tells."""
    if file.suffix.lower() != ENDING or not file.is_file():
        return False
    first = read_text(file).partition("\n")[0].rstrip("\r")
    if TAB not in first or first.startswith(("{", "[")):
        return False
    return KNOWN.isdisjoint(first.lower().split(TAB))  # a table begins with the names of its columns


def rows(file: Path) -> Iterator[Located]:
    """Yield a file's rows with their places."""
    for number, line in enumerate(read_text(file).split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        cells = line.split(TAB, len(COLUMNS) - 1)
        if len(cells) < len(COLUMNS):
            raise BuildError(
                f"{file}, line {number} is {short_repr(line, 120)}; expected an image, a question, its right answer "
                "and the response, divided by tabs. Add what is missing; write a line break in a response as a space."
            )
        yield f"{file}, line {number}", dict(zip(COLUMNS, cells, strict=True))
