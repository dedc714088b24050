"""Says what files are that other people wrote."""

from halluscope.cli.parameters import Files
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell, tell_error


def inspect(files: Files, /, *, json: bool = False) -> None:
    """Say what each file is; one that cannot be read is named, and the others are still inspected.

    Args:
        files: files of any kind: responses, scores
        json: print JSON instead of text
    """
    from halluscope.inspection import DATASET
    from halluscope.inspection import inspect as inspected

    found, failed = [], []
    for file in files:
        try:
            found.append(inspected(file))
        except (ValueError, OSError) as error:
            failed.append(str(error))
    if json:
        say(to_json([held.row() for held in found]))
    else:
        for held in found:
            say(f"{one_line(held.file)}: {held}")
            if held.command:
                say(f"  {held.command}")
        if any(DATASET in held.command for held in found):
            tell(
                f"{DATASET} is what has the questions or images; `halluscope list` names datasets, or give a file."
            )
    for message in failed:
        tell_error(message)
    if failed:
        raise ValueError(f"{len(failed)} of {len(files)} files cannot be read.")
