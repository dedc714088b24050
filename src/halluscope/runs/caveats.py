"""What a reader has to know about results: rows that are not the benchmark's, thoughts, scores that a file states."""

from collections.abc import Iterator, Sequence

from halluscope import scoring
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.building import spec
from halluscope.reading.datasets import SUBSET
from halluscope.reporting import published
from halluscope.reporting.tables import OTHER, Named, Notes, Values, below, printed, rows_of
from halluscope.responses import thoughts
from halluscope.signature import keys_of
from halluscope.validation import of_a_part

AGREE = 0.0006  # how far a score that a file states may be from ours, because it is rounded


def caveats(benchmark: Benchmark, result: Values, options: Values) -> list[str]:
    """Say in what the rows of a result are not those that a paper on the benchmark scores; [] where they may be."""
    keys = keys_of(result[SIGNATURE])
    lines = []
    if "part" in result:
        scored, total = result["part"]
        lines.append(f"Only {scoring.part_of(benchmark, scored, total)}.")
    if result.get("origin") == scoring.SUBSET:
        version = result.get("questions_version")
        if version:
            lines.append(f"The questions are those of {version}, an older version of the benchmark's.")
        else:
            lines.append(f"The dataset {SUBSET} of the benchmark's.")
    if result.get("origin") == scoring.OTHER_FILE:
        lines.append("The dataset is a file of another content than the published one.")
    if "form" in keys:
        lines.append(f"The questions are a parallel form of the benchmark's ({keys['form']}).")
    dataset = published.dataset_of(benchmark, options)
    if dataset and "part" not in result:
        expected = spec.load(dataset.name).expected
        unit = "images"
        if "questions" in expected:
            unit = "questions"
        rows = rows_of(result)
        if rows != expected[unit]:
            lines.append(of_a_part(rows, expected[unit], unit))
    return lines


def of_each(benchmark: Benchmark, results: Named, options: Values) -> list[Notes]:
    """Return the caveats of each result as notes."""
    lines = {}
    for name, result in results:
        lines[name] = caveats(benchmark, result, options)
    return below(lines)


def of_other_rows(results: Named) -> list[str]:
    """Say which rows each result is about, if they are not the same."""
    digests = {}  # of a model that was scored in several ways, these are the same
    for name, result in results:
        digests[name] = keys_of(result[SIGNATURE])["data"]
    if len(set(digests.values())) < 2:
        return []
    texts = [f"{name} {digest}" for name, digest in digests.items()]
    return [f"{OTHER} Not about the same rows: {', '.join(texts)}."]


def of_thoughts(results: Named) -> list[Notes]:
    """Say how many responses of each result are a thought that never ends."""
    lines: dict[str, list[str]] = {}
    for name, result in results:
        note = thoughts.note_of_unfinished(result, rows_of(result))
        lines[name] = []
        if note:
            lines[name].append(note)
    return below(lines)


def of_stated(benchmark: Benchmark, results: Named) -> Iterator[str]:
    """Say, for each result whose file states scores of its own, what they are and whether they agree."""
    for name, result in results:
        figures = result.get("printed", {})
        if not figures:
            continue
        texts = []
        unlike = []
        for score, value in figures.items():
            is_points = benchmark.is_points(score)
            ours = result[score]
            texts.append(f"{score} {printed(value, is_points)} (here {printed(ours, is_points)})")
            if not abs(value - ours) < AGREE:  # nor if ours is NaN
                unlike.append(score)
        verdict = "They agree"
        if unlike:
            verdict = f"Not equal: {', '.join(unlike)}"
            verdict += f"; `halluscope explain {benchmark.name}` says how scripts count otherwise"
        yield f"{name} states scores itself: {', '.join(texts)}. {verdict}."


def notes(lines: Sequence[str]) -> list[Notes]:
    """Return lines as a note; [] for no lines."""
    if not lines:
        return []
    return [Notes(lines)]
