"""Several models' scores and their differences, corrected for one judge's errors by certificates of a grader.

A run whose own responses people marked is corrected by these marks. Any other run is corrected by the marks of the
first certificate, which assumes that the judge errs alike on both models' responses; the result says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import RunError
from halluscope.reporting.tables import Json
from halluscope.runs.comparing import common_rows
from halluscope.runs.run import Run, benchmark_of
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.certified import Corrected, Judged, Marks, corrected_scores
from halluscope.stats.ratios import Floats
from halluscope.stats.samples import FEWEST_MARKED
from halluscope.stats.tallies import Bools, numbers
from halluscope.studies import corrected_pairs
from halluscope.studies.corrected_pairs import Certificate, Correction, Pair, not_used
from halluscope.studies.graders import FORM, Verdicts, judge_of

METHOD = "certified-1"  # of the intervals; its number goes up when `stats.certified` changes
MAKE = "halluscope study certify SHEET --run RUN --out FILE"

NO_LINE = "the judge's verdicts do not follow people's marks, so these say nothing of other models"


@dataclass(frozen=True)
class Model:
    """A run, and the certificate that corrects it."""

    name: str
    verdicts: Verdicts
    rows: Bools  # the rows that are judged, and that all runs have: [rows]
    certificate: int  # its number
    is_own: bool  # whether it is of this run's responses


def correct(runs: Mapping[str, Run], certificates: Sequence[Path], resampling: Bootstrap) -> Correction:
    """Correct runs of a benchmark whose judge gives verdicts."""
    differences = len(runs) * (len(runs) - 1) // 2
    fewest = round(2 * differences / (1 - resampling.level))  # so that the least p can be beyond chance
    if resampling.resamples < fewest:
        raise ValueError(
            f"{resampling.resamples:,} resamples are too few to tell {differences:,} differences from chance; expected "
            f"at least {fewest:,}: --bootstrap {fewest}."
        )
    read = [read_certificate(path) for path in certificates]
    models = models_of(runs, read)
    scores: list[Json] = []
    pairs: list[Pair] = []
    uncorrected: list[str] = []
    for name in models[0].verdicts.addends:
        score = Score.of(name, models, read, resampling)
        if score is not None:
            scores += score.values()
            pairs += score.differences()
    for row in scores:
        if np.isnan(row["value"]):
            uncorrected.append(f"{row['run']}, {row['score']}: {NO_LINE}.")
    return Correction(
        certificates=read,
        scores=scores,
        pairs=pairs,
        uncorrected=uncorrected,
        doubts=list(doubts(models, read)),
        interval=f"{resampling},{METHOD}",
    )


def read_certificate(path: Path) -> Certificate:
    """Read a certificate of a grader that rests on enough marks."""
    certificate = corrected_pairs.read_certificate(path, FORM, MAKE)
    marked = certificate.content["marked"]
    if marked < FEWEST_MARKED:
        raise ValueError(
            f"{path} rests on {marked:,} marked responses; expected at least {FEWEST_MARKED}. Mark more."
        )
    return certificate


def models_of(runs: Mapping[str, Run], certificates: Sequence[Certificate]) -> list[Model]:
    """Return the runs, each with its own certificate, or with the first one."""
    benchmark = benchmark_of(runs)
    certificate_of: dict[str, int] = {}  # the name of the responses that it is about -> its number
    for number, certificate in enumerate(certificates):
        if certificate.content["benchmark"] != benchmark.name:
            raise RunError(
                f"{certificate.name} is about {certificate.content['benchmark']}, but the runs are of {benchmark.name}."
            )
        certificate_of.setdefault(certificate.content["drawn_from"], number)
    models: list[Model] = []
    for name, rows in common_rows(runs).items():
        run = runs[name]
        verdicts = Verdicts(run)
        check_other_responses(name, verdicts, models)
        is_common = np.zeros(len(verdicts.responses), dtype=bool)
        is_common[rows] = True
        is_own = verdicts.population in certificate_of
        if not is_own:
            check_judge(name, judge_of(run), certificates[0])
        number = certificate_of.get(verdicts.population, 0)
        models.append(Model(name, verdicts, verdicts.able & is_common, number, is_own))
    return models


def check_other_responses(name: str, verdicts: Verdicts, models: Sequence[Model]) -> None:
    """Check that a run is of other responses than those before it: of the same, people say the same."""
    for model in models:
        if model.verdicts.population == verdicts.population:
            raise RunError(
                f"{model.name} and {name} are of the same responses, so people's marks of both are the same; expected "
                "runs of different LVLMs. `halluscope study swap` compares two judges."
            )


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
    yield from not_used(certificates, {model.certificate for model in models})


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
        if not all(name in model.verdicts.addends for model in models):
            return None
        own_models: dict[int, Model] = {}  # the number of a certificate -> the model that it is of
        for model in models:
            if model.is_own:
                own_models[model.certificate] = model
        marks = []
        for number, certificate in enumerate(certificates):
            marks.append(marks_of(name, certificate, models[0].verdicts.view, own_models.get(number)))
        used = {model.certificate for model in models}
        if not all(marks[number].whole.any() for number in used):
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

    def differences(self) -> Iterator[Pair]:
        """Yield the difference of each two models."""
        for first, second in combinations(range(len(self.models)), 2):
            yield self.difference(first, second)

    def difference(self, first: int, second: int) -> Pair:
        """Return the difference of two models, by their numbers."""
        corrected = self.corrected
        value = corrected.values[:, first] - corrected.values[:, second]
        resampled = corrected.both[:, first] - corrected.both[:, second]
        by_images = corrected.by_images[:, first] - corrected.by_images[:, second]
        by_marks = corrected.by_marks[:, first] - corrected.by_marks[:, second]
        used = {self.models[first].certificate, self.models[second].certificate}
        p = float("nan")
        estimated = self._estimate(value, resampled)
        if not np.isnan(estimated["value"]):
            p = self.resampling.p(resampled)
        return Pair(
            score=self.name,
            first=self.models[first].name,
            second=self.models[second].name,
            judge=self.by_judge(first) - self.by_judge(second),
            value=estimated["value"],
            low=estimated["low"],
            high=estimated["high"],
            p=p,
            by_images=float(np.var(by_images)),
            by_marks=float(np.var(by_marks)),
            marked=sum(len(self.marks[number].part) for number in used),
            unmarked=sum(unmarked(self.certificates[number]) for number in used),
        )

    def _estimate(self, value: Floats, resampled: Floats) -> dict[str, float]:
        """Return a value and its interval; NaN if more resamples have none than an end leaves out."""
        low, high = self.resampling.interval(resampled)
        if np.isnan(resampled).mean() > (1 - self.resampling.level) / 2:
            return dict.fromkeys(("value", "low", "high"), float("nan"))
        return {"value": float(value[0]), "low": low, "high": high}


def unmarked(certificate: Certificate) -> int:
    """Return how many judged responses have no mark."""
    content = certificate.content
    return int(content["rows"] - content["unjudged"] - content["marked"])


def judged_of(name: str, models: Sequence[Model]) -> list[Judged]:
    """Return what the judge says of each model's responses; the images are numbered over all models."""
    images: list[str] = []
    for model in models:
        images += [model.verdicts.responses[row].image for row in np.flatnonzero(model.rows)]
    clusters = numbers(images)
    judged = []
    start = 0
    for model in models:
        addends = model.verdicts.addends[name]
        end = start + int(model.rows.sum())
        judged.append(
            Judged(
                part=addends.part[model.rows],
                whole=addends.whole[model.rows],
                clusters=clusters[start:end],
                sheet=model.certificate,
                is_own=model.is_own,
            )
        )
        start = end
    return judged


def marks_of(name: str, certificate: Certificate, view: Any, own_model: Model | None) -> Marks:
    """Return a certificate's marks for a score; of a run's own responses, with what that run's judge says of them."""
    lines = certificate.content["marks"]
    by_people = view.counted([line["people"] for line in lines])[name]
    if own_model is None:
        judged = view.counted([line["judge"] for line in lines])[name].part
        is_used = np.ones(len(lines), dtype=bool)
    else:
        rows = [own_model.verdicts.row_of[line["text"]] for line in lines]
        judged = own_model.verdicts.addends[name].part[rows]
        is_used = own_model.rows[rows]
    chances = np.array([line["chance"] for line in lines], dtype=float)
    return Marks(
        judged=judged[is_used],
        part=by_people.part[is_used],
        whole=by_people.whole[is_used],
        chances=chances[is_used],
    )
