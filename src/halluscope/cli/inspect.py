"""Says what files are that other people wrote."""

from halluscope.cli.parameters import Files
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line, typed
from halluscope.terminal import say, tell, tell_error


def inspect(files: Files, /, *, json: bool = False) -> None:
    """Say what each file is; one that cannot be read is named, and the others are still inspected.

    Args:
        files: files of any kind: responses, scores
        json: print JSON instead of text
    """
    from halluscope.inspection.inspecting import ASKED, DATASET, FILE
    from halluscope.inspection.inspecting import inspect as inspected

    contents = []
    failed = []
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
            if content.command:
                say(f"  {content.command}")
            elif content.kind == ASKED and content.benchmarks:
                words = ["score", content.benchmarks[0], "--responses", FILE, "--dataset", content.file]
                say(f"  {typed(words)}")
        if any(DATASET in content.command for content in contents):
            tell(
                f"{DATASET} is what has the questions or images; `halluscope list` names datasets, or give a file."
            )
    for message in failed:
        tell_error(message)
    if failed:
        raise ValueError(f"{len(failed)} of {len(files)} files cannot be read.")
