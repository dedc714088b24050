"""Says what files are that other people wrote."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from halluscope.cli.parameters import Files
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line, typed
from halluscope.terminal import say, tell, tell_error

if TYPE_CHECKING:
    from halluscope.inspection.inspecting import Inspection


def inspect(files: Files, /, *, json: bool = False) -> None:
    """Say what each file is; one that cannot be read is named, and the others are still inspected.

    Args:
        files: files of any kind, such as responses or scores, or folders of files
        json: print JSON instead of text
    """
    from halluscope.inspection.inspecting import ANNOTATIONS, DATASET, JUDGE, OTHER, RESPONSES
    from halluscope.inspection.inspecting import inspect as inspected

    contents = []
    failed = []
    files = files_among(files)
    for file in files:
        try:
            contents.append(inspected(file))
        except (ValueError, OSError) as error:
            failed.append(str(error))
    if json:
        say(to_json([content.row() for content in contents]))
    else:
        for content in contents:
            say(f"{one_line(content.file)}: {content}")
            command = command_of(content)
            if command:
                say(f"  {command}")
        if any(DATASET in content.command for content in contents):
            tell(
                f"{DATASET} is what has the questions or images: a dataset (`halluscope list` names them), or a file; "
                "`halluscope score NAME --help` says what that can be."
            )
        if any(JUDGE in content.words for content in contents):
            tell(
                f"{JUDGE} is who gives verdicts: openai:MODEL@URL for a server, or a local model; `halluscope score "
                "NAME --help` says more."
            )
        if any(content.kind == RESPONSES and not content.benchmarks for content in contents):
            tell(
                "Where no benchmark is named, it is not known; you name it: `halluscope score NAME --responses FILE "
                "--dataset DATASET`. `halluscope list` shows the names."
            )
        if any(content.kind == ANNOTATIONS for content in contents):
            tell(
                "Annotations are no responses, but say what is in images: `halluscope build NAME --help` says how a "
                "dataset is made of them, and `halluscope score NAME --help` whether they are one themselves."
            )
        if any(content.kind == OTHER for content in contents):
            tell(
                "Of other rows no column is known to hold responses; you name it: `halluscope score NAME --responses "
                "FILE --dataset DATASET --text-column COLUMN`."
            )
    for message in failed:
        tell_error(message)
    if failed:
        raise ValueError(f"{len(failed)} of {len(files)} files cannot be read.")


def files_among(paths: Sequence[Path]) -> list[Path]:
    """Return files, and those in folders."""
    from halluscope.cli.score_folder import files_of

    files = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inner = list(files_of(path))
        if not inner:
            raise ValueError(
                f"{one_line(path)} is a folder without files of responses; runs and built datasets are left out. "
                "Name a file."
            )
        files += inner
    return files


def command_of(content: "Inspection") -> str:
    """Return the command that scores a file, or responses to the questions in it; "" if it is not known."""
    from halluscope.inspection.inspecting import FILE, RESPONSES, dataset_for

    if content.command:
        return content.command
    if content.kind == RESPONSES or len(content.benchmarks) != 1:
        return ""
    return typed(["score", content.benchmarks[0], "--responses", FILE, "--dataset", dataset_for(content)])
