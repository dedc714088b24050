"""Several models' scores and their differences, corrected for one judge's errors by certificates of a grader.

A run whose own responses people marked is corrected by these marks. Any other run is corrected by the marks of the
first certificate, which assumes that the judge errs alike on both models' responses; the result says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from halluscope.benchmark import Benchmark
from halluscope.errors import RunError
from halluscope.files.opening import read_json
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Cell, Json, Notes, Report, Table, estimate, gap, scored
from halluscope.runs import folder
from halluscope.runs.comparing import common_rows
from halluscope.runs.run import benchmark_of
from halluscope.sanitize import short_repr
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.certified import Corrected, Judged, Marks, corrected_scores
from halluscope.stats.ratios import Floats
from halluscope.stats.samples import FEWEST_MARKED
from halluscope.stats.tallies import Bools, numbers
from halluscope.studies.certificate import DIGEST, digest_of, sealed
from halluscope.studies.graders import FORM, Verdicts, judge_of

METHOD = "certified-1"  # of the intervals; its number goes up when `stats.certified` changes
OPEN = "no number"  # of marks settles a difference

NO_LINE = "the judge's verdicts do not follow people's marks, so these say nothing of other models"


@dataclass(frozen=True)
class Certificate:
    """A certificate of a grader, with the marks on which it rests."""

    name: str  # its file
    content: Json

    @property
    def unmarked(self) -> int:
        """How many judged responses have no mark."""
        return int(self.content["rows"] - self.content["unjudged"] - self.content["marked"])

    @classmethod
    def read(cls, path: Path) -> "Certificate":
        content = read_json(path)
        make = "make one with `halluscope study certify SHEET --run RUN --out FILE`."
        if not isinstance(content, dict) or content.get("form") != FORM:
            form = content
            if isinstance(content, dict):
                form = content.get("form")
            raise ValueError(f"{path} is {short_repr(form, 80)}; expected a {FORM!r}: {make}")
        if content.get(DIGEST) != digest_of(content):
            raise ValueError(
                f"{path} was changed: its digest is {short_repr(content.get(DIGEST))}, but its content has "
                f"{digest_of(content)}. Take the original, or {make}"
            )
        if content["marked"] < FEWEST_MARKED:
            raise ValueError(
                f"{path} rests on {content['marked']:,} marked responses; expected at least {FEWEST_MARKED}. Mark more."
            )
        return cls(str(path), content)


@dataclass(frozen=True)
class Model:
    """A run, and the certificate that corrects it."""

    name: str
    verdicts: Verdicts
    rows: Bools  # the rows that are judged, and that all runs have: [rows]
    certificate: int  # its number
    is_own: bool  # whether it is of this run's responses


def correct(runs: Sequence[Path], certificates: Sequence[Path], resampling: Bootstrap) -> Printed:
    """Return each run's scores and the differences of each two, corrected by people's marks.

    Returns:
        `scores`: for each run and score the judge's value, the corrected `value` with `low` and `high`, and whose
        marks correct it; `differences`: the same of each two runs, `beyond_chance`, and `more_marks`, how many more
        would put this difference beyond chance (None if no number would); `doubts`, what the correction assumes;
        `certificates`, their digests; `interval`; `digest`, a checksum of all this.

    Raises:
        ValueError: for a file that is no certificate, was changed, or rests on too few marks, or for no resamples.
        RunError: for runs of another benchmark, or without a row in common, or by another judge than the certificate's.
    """
    if not resampling.resamples:
        raise ValueError("Corrected differences need intervals; got bootstrap=0, which makes none.")
    read = [Certificate.read(path) for path in certificates]
    models = models_of(runs, read)
    benchmark = models[0].verdicts.benchmark
    scores: list[Json] = []
    differences: list[Json] = []
    for name in models[0].verdicts.counts:
        score = Score.of(name, models, read, resampling)
        if score is not None:
            scores += score.values()
            differences += score.differences()
    content = sealed(
        {
            "runs": {model.name: model.verdicts.run.scores["signature"] for model in models},
            "certificates": [certificate.content[DIGEST] for certificate in read],
            "scores": scores,
            "differences": differences,
            "doubts": list(doubts(models, read)),
            "interval": f"{resampling},{METHOD}",
        }
    )
    return Printed(content, report(content, benchmark), content["differences"] or content["scores"])


def models_of(paths: Sequence[Path], certificates: Sequence[Certificate]) -> list[Model]:
    """Return the runs, each with its own certificate, or with the first one."""
    runs = folder.checked(paths)
    benchmark = benchmark_of(runs)
    populations = {}
    for number, certificate in enumerate(certificates):
        if certificate.content["benchmark"] != benchmark.name:
            raise RunError(
                f"{certificate.name} is about {certificate.content['benchmark']}, but the runs are of {benchmark.name}."
            )
        populations[certificate.content["drawn_from"]] = number
    models = []
    for name, rows in common_rows(runs).items():
        run = runs[name]
        verdicts = Verdicts(run)
        is_common = np.zeros(len(verdicts.items), dtype=bool)
        is_common[rows] = True
        own = populations.get(verdicts.population)
        if own is None:
            check_judge(name, judge_of(run), certificates[0])
        models.append(Model(name, verdicts, verdicts.able & is_common, own or 0, own is not None))
    return models


def check_judge(name: str, judge: str, certificate: Certificate) -> None:
    """Check that a certificate of other responses is about the judge of a run."""
    certified = certificate.content["judge"]
    if judge != certified:
        raise RunError(
            f"{name} was judged by {judge}, but {certificate.name} is about {certified} and not about these responses. "
            "Another judge errs in other ways: certify this one, by marks of its responses."
        )


def doubts(models: Sequence[Model], certificates: Sequence[Certificate]) -> Iterator[str]:
    """Yield what the correction assumes and nobody has checked."""
    content = certificates[0].content
    others = [model.name for model in models if not model.is_own]
    if others:
        yield (
            f"Doubtful: no response of {', '.join(others)} is marked. The correction assumes that the judge errs as on "
            f"{content['responses']}; mark a sample of each run, and name its certificate too, to check that."
        )
        if content["judge"] == "given":
            yield "Doubtful: the verdicts were given, so that all are of one judge is not known."
    used = {model.certificate for model in models}
    for number, certificate in enumerate(certificates):
        if number not in used:
            yield f"{certificate.name} is about none of these runs and was not used."


# A score


@dataclass(frozen=True)
class Score:
    """A score of all models."""

    name: str
    models: Sequence[Model]
    certificates: Sequence[Certificate]
    judged: Sequence[Judged]
    marks: Sequence[Marks]
    corrected: Corrected
    resampling: Bootstrap

    @classmethod
    def of(
        cls,
        name: str,
        models: Sequence[Model],
        certificates: Sequence[Certificate],
        resampling: Bootstrap,
    ) -> "Score | None":
        """Correct a score; None if a model has no such score, or nobody marked what it needs."""
        marks = []
        for number, certificate in enumerate(certificates):
            own = [model for model in models if model.is_own and model.certificate == number]
            marks.append(marks_of(name, certificate, models[0].verdicts.view, own))
        used = {model.certificate for model in models}
        has_score = all(name in model.verdicts.counts for model in models)
        if not has_score or not all(marks[number].whole.any() for number in used):
            return None
        judged = judged_of(name, models)
        most = 1.0
        if models[0].verdicts.benchmark.is_points(name):
            for parts in [model.part for model in judged] + [sheet.part for sheet in marks]:
                most = max(most, float(parts.max()))
        corrected = corrected_scores(judged, marks, most, resampling)
        return cls(
            name=name,
            models=models,
            certificates=certificates,
            judged=judged,
            marks=marks,
            corrected=corrected,
            resampling=resampling,
        )

    def by_judge(self, model: int) -> float:
        judged = self.judged[model]
        return float(judged.part.sum() / judged.whole.sum())

    def values(self) -> Iterator[Json]:
        """Yield each model's score."""
        for number, model in enumerate(self.models):
            certificate = self.certificates[model.certificate]
            yield {
                "run": model.name,
                "score": self.name,
                "judge": self.by_judge(number),
                **self._estimate(self.corrected.values[:, number], self.corrected.both[:, number]),
                "marked": len(self.marks[model.certificate].part),
                "marks_of": certificate.content["responses"],
                "own_marks": model.is_own,
            }

    def differences(self) -> Iterator[Json]:
        """Yield the difference of each two models."""
        for first, second in combinations(range(len(self.models)), 2):
            yield self.difference(first, second)

    def difference(self, first: int, second: int) -> Json:
        """Return the difference of two models, by their numbers."""
        corrected = self.corrected
        value = corrected.values[:, first] - corrected.values[:, second]
        resampled = corrected.both[:, first] - corrected.both[:, second]
        estimated = self._estimate(value, resampled)
        is_beyond = bool(estimated["low"] > 0 or estimated["high"] < 0)
        more_marks: int | None = 0
        if not is_beyond:
            more_marks = self.more_marks(first, second, estimated["value"])
        return {
            "score": self.name,
            "first": self.models[first].name,
            "second": self.models[second].name,
            "judge": self.by_judge(first) - self.by_judge(second),
            **estimated,
            "beyond_chance": is_beyond,
            "more_marks": more_marks,
        }

    def more_marks(self, first: int, second: int, difference: float) -> int | None:
        """Return how many more marks would put a difference beyond chance; None if those of all responses would not."""
        by_images = self.corrected.by_images
        by_marks = self.corrected.by_marks
        used = {self.models[first].certificate, self.models[second].certificate}
        more = marks_needed(
            difference,
            images=float(np.var(by_images[:, first] - by_images[:, second])),
            marks=float(np.var(by_marks[:, first] - by_marks[:, second])),
            marked=sum(len(self.marks[number].part) for number in used),
            level=self.resampling.level,
        )
        if more > sum(self.certificates[number].unmarked for number in used):
            return None
        return int(more)

    def _estimate(self, value: Floats, resampled: Floats) -> dict[str, float]:
        """Return a value and its interval; NaN if more resamples have none than an end leaves out."""
        low, high = self.resampling.interval(resampled)
        if np.isnan(resampled).mean() > (1 - self.resampling.level) / 2:
            return dict.fromkeys(("value", "low", "high"), float("nan"))
        return {"value": float(value[0]), "low": low, "high": high}


def judged_of(name: str, models: Sequence[Model]) -> list[Judged]:
    """Return what the judge says of each model's responses; the images are numbered over all models."""
    images: list[str] = []
    for model in models:
        items = model.verdicts.items
        images += [items[row].image or items[row].id for row in np.flatnonzero(model.rows)]
    clusters = numbers(images)
    judged = []
    start = 0
    for model in models:
        part, whole = model.verdicts.counts[name]
        end = start + int(model.rows.sum())
        judged.append(
            Judged(
                part=np.asarray(part[model.rows], dtype=float),
                whole=np.asarray(whole[model.rows], dtype=float),
                clusters=clusters[start:end],
                sheet=model.certificate,
                is_own=model.is_own,
            )
        )
        start = end
    return judged


def marks_of(name: str, certificate: Certificate, view: Any, own: Sequence[Model]) -> Marks:
    """Return a certificate's marks for a score; of a run's own responses, with what that run's judge says of them."""
    lines = certificate.content["marks"]
    by_people = view.counted([line["people"] for line in lines])[name]
    by_judge = view.counted([line["judge"] for line in lines]).get(name)
    judged = np.asarray(by_judge[0], dtype=float)
    is_used = np.ones(len(lines), dtype=bool)
    for model in own:
        row_of = {text: row for row, text in enumerate(model.verdicts.names)}
        rows = [row_of[line["text"]] for line in lines]
        is_used = model.rows[rows]
        judged = np.asarray(model.verdicts.counts[name][0][rows], dtype=float)
    chances = np.array([line["chance"] for line in lines], dtype=float)
    return Marks(
        judged=judged[is_used],
        part=np.asarray(by_people[0], dtype=float)[is_used],
        whole=np.asarray(by_people[1], dtype=float)[is_used],
        chances=chances[is_used],
    )


def marks_needed(difference: float, *, images: float, marks: float, marked: int, level: float) -> float:
    """Return how many more marks would put a difference beyond chance, if it stayed as it is; inf if no number would.

    The part of its variance that is due to the marks falls as 1 / their number; that of the images stays.

    >>> marks_needed(0.2, images=0.005, marks=0.02, marked=100, level=0.95)
    270
    >>> marks_needed(0.1, images=0.005, marks=0.02, marked=100, level=0.95)
    inf
    """
    errors = NormalDist().inv_cdf((1 + level) / 2)
    room = (difference / errors) ** 2 - images
    if not room > 0:
        return float("inf")
    return max(1, int(np.ceil(marked * marks / room)) - marked)


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
        if more is None and row["value"] is not None:
            more = OPEN
        is_beyond: Cell = "no"
        if row["value"] is None:
            is_beyond = None
        elif row["beyond_chance"]:
            is_beyond = "yes"
        runs = f"{row['first']} - {row['second']}"
        rows.append([row["score"], runs, gap(row["judge"], is_points), corrected, is_beyond, more])
    header = ["score", "difference", "judge", "corrected", "beyond chance", "more marks"]
    return Table("differences", header, rows, left=2, intervals=("corrected",))


def _lines(content: Json) -> Iterator[str]:
    yield from content["doubts"]
    for score in content["scores"]:
        if score["value"] is None:
            yield f"{score['run']}, {score['score']}: {NO_LINE}."
    more = [row["more_marks"] for row in content["differences"] if row["value"] is not None]
    if any(more):
        yield "more marks: how many more would put the difference beyond chance, if it stayed as it is."
    if None in more:
        yield f"{OPEN}: marks of all responses would leave it open; more images might settle it."
    yield f"certificates: {', '.join(content['certificates'])}; digest of all this: {content[DIGEST]}"
