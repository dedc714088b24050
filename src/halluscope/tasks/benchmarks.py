"""What is asked in each benchmark, what finds an answer's row again, and how a set of answers is scored."""

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.judges.chat import resolve_chat
from halluscope.metrics import hallusionbench, hqh, pope, throne
from halluscope.records.control_pairs import ID

Row = Mapping[str, Any]
Score = Callable[..., dict[str, Any]]

QUESTION = "{question}"
"""What stands for a row's own question in a prompt."""

DESCRIBE = "Describe this image in detail."
"""THRONE's only prompt (section 4.1)."""

SIGNATURE = "signature"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, as a harness sees it.

    Attributes:
        name: of the dataset and of the task.
        id: the columns that find a row.
        columns: what else its rows must have.
        score: rows, texts and options to a result.
        compute: the metric, whose options may be set.
        figures: those of the result that a harness reports.
        max_new_tokens: how long an answer may be.
        prompt: what is asked; `QUESTION` stands for the row's own.
        picture: the column that tells images apart; null where a question has none.
        file: the column with the image's file name, for a folder of images.
        target: the column with what is right, which harnesses show beside an answer.
        find_judge: finds who judges with these options, without loading a model; nobody is asked in POPE.
    """

    name: str
    id: tuple[str, ...]
    columns: tuple[str, ...]
    score: Score
    compute: Score
    figures: tuple[str, ...]
    max_new_tokens: int
    prompt: str = QUESTION
    picture: str = "image_id"
    file: str = "file_name"
    target: str = "answer"
    find_judge: Callable[[Mapping[str, Any]], object] = dict

    def asked(self, row: Row, prompt: str | None = None) -> str:
        """What the LVLM is asked about a row."""
        template = prompt or self.prompt
        return template.replace(QUESTION, row["question"]) if QUESTION in template else template

    def check_prompt(self, prompt: str) -> None:
        """Check that a prompt puts each row's question, if rows have one.

        Raises:
            ValueError: if it does not, or puts one where there is none.
        """
        if (QUESTION in prompt) != (QUESTION in self.prompt):
            put = "with {question} for each row's own" if QUESTION in self.prompt else "without {question}"
            raise ValueError(f"The prompt for {self.name} is {prompt[:80]!r}; expected one {put}.")

    def identity(self, row: Row) -> dict[str, Any]:
        """What finds the row."""
        return {name: row[name] for name in self.id if name in row}

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Check that the metric has these options.

        Raises:
            ValueError: for one that it has not, or that a harness cannot give.
        """
        known = {
            name
            for name, option in inspect.signature(self.compute).parameters.items()
            if option.kind is option.KEYWORD_ONLY
        } - _GIVEN
        if unknown := sorted(options.keys() - known):
            raise ValueError(
                f"{self.name} has no option {', '.join(map(repr, unknown))}; expected dataset, images, or one of "
                f"{', '.join(sorted(known))}."
            )


_GIVEN = {
    "votes",
    "correctness",
    "same",
    "judgements",
    "objects",
    "sampling",
    "image_ids",
    "cells",
    "vocabulary",
}
"""Options that come from the rows, or stand for a judge's work."""


def of(columns: Sequence[str]) -> Benchmark:
    """The benchmark whose rows have these columns. (The two `throne_*` ask the same.)

    Raises:
        ValueError: if there is none.
    """
    for benchmark in BENCHMARKS.values():
        if {*benchmark.id, *benchmark.columns} <= {*columns}:
            return benchmark
    raise ValueError(
        f"A dataset with the columns {', '.join(columns)} is none of ours; expected one of {', '.join(BENCHMARKS)}."
    )


def named(name: str) -> Benchmark:
    """The benchmark of this name.

    Raises:
        ValueError: if there is none.
    """
    if name not in BENCHMARKS:
        raise ValueError(f"There is no task {name!r:.80}; expected one of {', '.join(BENCHMARKS)}.")
    return BENCHMARKS[name]


F = ("precision", "recall", "f1", "f0.5")


def _throne(name: str, vocabulary: str) -> Benchmark:
    def score(rows: Sequence[Row], texts: Sequence[str], **options: Any) -> dict[str, Any]:
        objects, image_ids = [row["objects"] for row in rows], [row["image_id"] for row in rows]
        return throne.compute(texts, objects, vocabulary=vocabulary, image_ids=image_ids, **options)

    return Benchmark(
        name,
        id=("image_id",),
        columns=("objects",),
        score=score,
        compute=throne.compute,
        figures=(*(f"{figure}_{over}" for over in ("cls", "all") for figure in F), "unparsed", SIGNATURE),
        max_new_tokens=512,
        prompt=DESCRIBE,
        target="objects",
        find_judge=_voters,
    )


def _pope(name: str, id: tuple[str, ...]) -> Benchmark:
    def score(rows: Sequence[Row], texts: Sequence[str], **options: Any) -> dict[str, Any]:
        return pope.compute(
            texts,
            [row["answer"] for row in rows],
            objects=[row["object"] for row in rows],
            sampling=[row["sampling"] for row in rows] if "sampling" in id else None,
            image_ids=[row.get("file_name") or row["image_id"] for row in rows],
            **options,
        )

    return Benchmark(
        name,
        id=id,
        columns=("image_id", "object", "question", "answer"),
        score=score,
        compute=pope.compute,
        figures=("accuracy", *F, *(f"{figure}_cls" for figure in F), "yes_ratio", "unparsed", SIGNATURE),
        max_new_tokens=64,
    )


def _of_rows(compute: Score) -> Score:
    return lambda rows, texts, **options: compute(texts, rows, **options)


def _voters(options: Mapping[str, Any]) -> object:
    from halluscope.judges import resolve, weights

    models = [judge for judge in resolve.named(options.get("judges", "flan-t5")) if judge != resolve.LEXICAL]
    return [weights.find(model) for model in models if isinstance(model, str)]


def _chat_judge(readers: Container[str]) -> Callable[[Mapping[str, Any]], object]:
    def find_judge(options: Mapping[str, Any]) -> object:
        judge = options.get("judge")
        return (
            None if judge is None or judge in readers else resolve_chat(judge, device=options.get("device"))
        )

    return find_judge


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        _throne("throne_coco", "coco"),
        _throne("throne_objects365", "objects365"),
        _pope("pope", ("question_id", "sampling")),
        _pope("pope_c", ("question_id",)),
        Benchmark(
            "hallusionbench",
            id=ID,
            columns=("visual_input", "question", "gt_answer", "figure"),
            score=_of_rows(hallusionbench.compute),
            compute=hallusionbench.compute,
            figures=(
                *("aAcc", "qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "pct_diff", "fp_ratio"),
                *("correct", "inconsistent", "wrong", "language_hallucination", "visual_illusion", "mixed"),
                *("unread", SIGNATURE),
            ),
            max_new_tokens=256,
            picture="figure",
            file="filename",
            target="gt_answer",
            find_judge=_chat_judge(hallusionbench.READERS),
        ),
        Benchmark(
            "hqh",
            id=("id",),
            columns=("image_id", "question", "answer", "type"),
            score=_of_rows(hqh.compute),
            compute=hqh.compute,
            figures=(
                *("main_hal", "main_hal/object", "main_hal/attribute", "main_hal/scene"),
                *("extra_hal", "overall_hal", "unjudged", SIGNATURE),
            ),
            max_new_tokens=256,
            find_judge=_chat_judge((hqh.REFERENCE_ONLY,)),
        ),
    )
}
"""All of them, by name."""
