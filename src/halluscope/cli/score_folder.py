"""Scores each file of a folder under the benchmark that `halluscope inspect` names."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from halluscope.cli import commands
from halluscope.cli.parameters import OUTPUT, Folder
from halluscope.files.writing import check_new
from halluscope.inspection.inspecting import DATASET, JUDGE, Inspection, inspect
from halluscope.responses import answer_lists
from halluscope.sanitize import one_line, short_repr, typed
from halluscope.terminal import say, tell, tell_error


@dataclass
class Group:
    """Files that one command scores."""

    name: str  # of the benchmark
    words: list[str]  # what follows the files on the command line
    files: list[str]


def score_folder(
    *,
    responses: Folder,
    out: Annotated[Folder, Parameter(group=OUTPUT)],
    judge: str = "",
) -> None:
    """Score each file of a folder under the benchmark that `halluscope inspect` names, and write a run of each.

    Args:
        responses: the folder with files of responses, of any benchmarks and LVLMs
        out: a new folder for the runs; `halluscope table` puts them into one table
        judge: who gives verdicts, for benchmarks that need one
    """
    if not responses.is_dir():
        raise ValueError(
            f"--responses is {short_repr(str(responses))}; expected a folder with files of responses. For one file, "
            "name the benchmark: `halluscope score NAME --responses FILE`; `halluscope inspect FILE` says which."
        )
    check_new(out)
    groups = groups_of(files_of(responses), judge)
    if not groups:
        raise ValueError(
            f"No file in {one_line(responses)} could be scored, so {one_line(out)} was not written."
        )
    failed = []
    for group in groups:
        words = [
            "score",
            group.name,
            "--responses",
            *group.files,
            *group.words,
            "--out",
            str(out / place(group, groups)),
        ]
        say(f"{typed(words)}\n")
        try:
            commands.run(words, words)
        except (ValueError, OSError, ImportError) as error:
            tell_error(f"{group.name}: {error}")
            failed.append(group.name)
        say("")
    if failed:
        raise ValueError(f"{len(failed)} of {len(groups)} benchmarks were not scored: {', '.join(failed)}.")
    tell(f"Next: `halluscope table {one_line(out)}`.")


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder, without hidden ones; a folder of text files, one per subtask, is as one file."""
    if answer_lists.is_folder_of_lists(folder):
        return [folder]
    files = []
    for path in sorted(folder.iterdir()):
        is_model = path.is_file() or answer_lists.is_folder_of_lists(path)
        if is_model and not path.name.startswith("."):
            files.append(path)
    return files


def groups_of(files: Iterable[Path], judge: str) -> list[Group]:
    """Return the files that can be scored, those of one benchmark and dataset together; say why others cannot."""
    groups: dict[tuple[str, ...], Group] = {}
    for file in files:
        try:
            inspection = inspect(file)
        except (ValueError, OSError) as error:
            tell(f"{one_line(file.name)} is left out: {error}")
            continue
        reason = why_not(inspection, judge)
        if reason:
            tell(f"{one_line(file.name)} is left out: {reason}")
            continue
        words = list(words_after_files(inspection, judge))
        name = inspection.benchmarks[0]
        group = groups.setdefault((name, *words), Group(name, words, []))
        group.files.append(str(file))
    return list(groups.values())


def why_not(inspection: Inspection, judge: str) -> str:
    """Return why a file cannot be scored without more being said; "" if it can."""
    if not inspection.words:
        return f"it holds {inspection}."
    if str(inspection.file) not in inspection.words:
        return "it holds verdicts; score the responses with --ratings."
    if len(inspection.benchmarks) > 1:
        names = " or ".join(inspection.benchmarks)
        return f"it may be of {names}; name one: `halluscope score NAME --responses FILE`."
    if DATASET in inspection.words:
        return f"its dataset is not known; type `{inspection.command}` with the dataset."
    if JUDGE in inspection.words and not judge:
        return f"{inspection.benchmarks[0]} needs a judge; pass --judge."
    return ""


def words_after_files(inspection: Inspection, judge: str) -> Iterator[str]:
    """Yield what follows a file in the command that scores it."""
    after = inspection.words.index(inspection.file) + 1
    for word in inspection.words[after:]:
        yield judge if word == JUDGE else word


def place(group: Group, groups: Iterable[Group]) -> str:
    """Return the name of a group's folder: that of its benchmark, with a number if several have it."""
    same = [other for other in groups if other.name == group.name]
    number = same.index(group)
    if number:
        return f"{group.name}-{number + 1}"
    return group.name
