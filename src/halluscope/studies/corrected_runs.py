"""Several runs' scores and their differences, corrected for the errors of judges by certificates."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.benchmark import Benchmark
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Cell, Json, Notes, Report, Table, estimate, gap, scored
from halluscope.runs import folder
from halluscope.runs.comparison_report import p_value
from halluscope.runs.run import benchmark_of
from halluscope.stats.bootstrap import Bootstrap
from halluscope.studies import corrected_labels, corrected_verdicts
from halluscope.studies.certificate import DIGEST, sealed
from halluscope.studies.corrected_pairs import settled
from halluscope.studies.graders import can_be_marked

OPEN = "no number"  # of marks settles a difference


def correct(paths: Sequence[Path], certificates: Sequence[Path], resampling: Bootstrap) -> Printed:
    """Return each run's scores and the differences of each two, corrected by people's marks.

    Returns:
        `scores`: for each run and score the judge's value, the corrected `value` with `low` and `high`, and whose
        marks correct it; `differences`: the same of each two runs, `p` and `holm`, the p value of no difference by
        itself and corrected for all differences of the score, `beyond_chance`, and `more_marks`, how many more would
        put this difference beyond chance (None if no number would); `uncorrected`, why a score has no corrected value;
        `doubts`, what the correction assumes; `certificates`, their digests; `interval`; `digest`, a checksum of all
        this.

    Raises:
        ValueError: for a file that is no certificate, was changed, or rests on too few marks, or for too few resamples.
        RunError: for runs of another benchmark, or without a row in common, for verdicts by another judge than the
            certificate's, or for texts without labels.
    """
    if not resampling.resamples:
        raise ValueError("Corrected differences need intervals; got bootstrap=0, which makes none.")
    runs = folder.checked(paths)
    benchmark = benchmark_of(runs)
    has_votes = benchmark.judges is not None and benchmark.judges.kind == "votes"
    if has_votes and not can_be_marked(benchmark):  # votes on classes, of which people label each
        correction = corrected_labels.correct(runs, certificates, resampling)
    else:
        correction = corrected_verdicts.correct(runs, certificates, resampling)
    signatures = {name: run.scores["signature"] for name, run in runs.items()}
    digests = [certificate.content[DIGEST] for certificate in correction.certificates]
    content = sealed(
        {
            "runs": signatures,
            "certificates": digests,
            "scores": correction.scores,
            "differences": list(settled(correction.pairs, resampling.level)),
            "uncorrected": correction.uncorrected,
            "doubts": correction.doubts,
            "interval": correction.interval,
        }
    )
    return Printed(content, report(content, benchmark), content["differences"] or content["scores"])


# What is printed


def report(content: Json, benchmark: Benchmark) -> Report:
    """Return tables of the scores and of the differences, and what is doubtful about them."""
    rows: list[list[Cell]] = []
    for score in content["scores"]:
        is_points = benchmark.is_points(score["score"])
        whose = score["marks_of"]
        if score["own_marks"]:
            whose = "its own"
        cells: list[Cell] = [score["run"], score["score"], scored(score["judge"], is_points)]
        cells += [estimate(score, is_points=is_points), f"{score['marked']:,} of {whose}"]
        rows.append(cells)
    header = ["run", "score", "judge", "corrected", "marks"]
    blocks: list[Table | Notes] = [Table("scores", header, rows, left=2, intervals=("corrected",))]
    if content["differences"]:
        blocks.append(_differences(content["differences"], benchmark))
    blocks.append(Notes(list(_lines(content))))
    return blocks


def _differences(differences: Sequence[Mapping[str, Any]], benchmark: Benchmark) -> Table:
    rows: list[list[Cell]] = []
    for row in differences:
        is_points = benchmark.is_points(row["score"])
        corrected = gap(row["value"], is_points, (row["low"], row["high"]))
        more: Cell = row["more_marks"]
        is_beyond: Cell = None
        p: Cell = None
        if row["value"] is not None:
            p = p_value(row["holm"])
            is_beyond = "no"
            if row["beyond_chance"]:
                is_beyond = "yes"
            if more is None:
                more = OPEN
        runs = f"{row['first']} - {row['second']}"
        cells: list[Cell] = [row["score"], runs, gap(row["judge"], is_points), corrected]
        cells += [p, is_beyond, more]
        rows.append(cells)
    header = ["score", "difference", "judge", "corrected", "Holm p", "beyond chance", "more marks"]
    return Table("differences", header, rows, left=2, intervals=("corrected",))


def _lines(content: Json) -> Iterator[str]:
    yield from content["doubts"]
    yield from content["uncorrected"]
    if len(content["runs"]) > 2:
        yield "Holm p: the p value of no difference, corrected for all differences of the same score."
    more = [row["more_marks"] for row in content["differences"] if row["value"] is not None]
    if any(more):
        yield "more marks: how many more would put the difference beyond chance, if it stayed as it is."
    if None in more:
        yield f"{OPEN}: marks of all responses would leave it open; more images might settle it."
    yield f"certificates: {', '.join(content['certificates'])}; digest of all this: {content[DIGEST]}"
