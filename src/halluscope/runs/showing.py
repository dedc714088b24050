"""A run as people are shown it: its rows as items, by the view of its benchmark's room."""

from halluscope.judging.transcript import Voted
from halluscope.reporting.shown import Shown
from halluscope.runs.folder import items, plain
from halluscope.runs.run import Run


def shown(run: Run) -> Shown:
    """What is shown of a run.

    A room's `view` has `items`: rows as they stand in items.jsonl, the options, and the facts of voters (None if nobody
    voted) to one item per row, in their order.
    """
    voted = run.said.voted
    rows = [plain(row) for row in items(run)]
    found = run.benchmark.module("view").items(rows, run.options, voted.facts if voted else None)
    if voted is None:
        return Shown(run.name, run.scores, list(found), run.options)
    return Shown(run.name, run.scores, list(found), run.options, _voters(voted), voted.votes)


def _voters(voted: Voted) -> list[str]:
    """The voters' names: each judge, and which of its questions it votes by, where it is asked several."""
    judges = voted.facts["judges"]
    each = voted.votes.shape[2] // len(judges)
    numbers = [f", question {number}" for number in range(1, each + 1)] if each > 1 else [""]
    return [f"{judge}{number}" for judge in judges for number in numbers]
