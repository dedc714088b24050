"""Tells which of POPE's published questions some questions are; versions.toml holds their digests."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.benchmark import Part
from halluscope.judging.questions import OBJECT_ASKED
from halluscope.responses.column_facts import plain_question
from halluscope.vocabularies import read_toml

PER_SAMPLING = 3000  # how many questions each of POPE's samplings has, with the ids 1 to 3,000
HEAD = 30  # how many questions of a sampling tell which it is
MISSPELT = "imange"  # stands in some questions of the older versions

# The share of questions about objects from which on questions may be POPE's
LEAST_ABOUT_OBJECTS = 0.9


@dataclass(frozen=True)
class Published:
    """A sampling's questions as POPE or RePOPE published them."""

    name: str  # such as "random (COCO)"; "" for questions that neither published
    rows: int  # how many questions it has
    dataset: str  # the dataset that has them, such as "pope:gqa"


UNPUBLISHED = Published("", 0, "")


@dataclass(frozen=True)
class Run:
    """Questions that follow each other as in a published sampling, from its first one on."""

    published: Published
    questions: Sequence[str]

    @property
    def is_part(self) -> bool:
        """Whether the sampling has more questions."""
        return len(self.questions) < self.published.rows

    @property
    def about(self) -> str:
        """The sampling's name and version, and how many of its questions there are."""
        count = len(self.questions)
        if self.published == UNPUBLISHED:
            return f"{count:,} questions in another order, or made anew"
        name = self.published.name
        misspelt = sum(MISSPELT in question for question in self.questions)
        version = older_version(name.partition(" ")[0], count, misspelt)
        if version:
            name = name.replace("(COCO)", f"(COCO, {version})")
        if self.is_part:
            return f"{name}, {count:,} of its {self.published.rows:,}"
        return name


def first_line(text: str) -> str:
    """Return a text up to its first line break, also if the break is written as a backslash and an n."""
    return text.replace("\\n", "\n").partition("\n")[0]


def plain(text: str) -> str:
    """Return a question's first line as `plain_question` has it."""
    return plain_question(first_line(text))


# By the texts of questions


def published_with(questions: Sequence[str]) -> Published:
    """Return which published sampling begins with these questions; `UNPUBLISHED` if none does."""
    head = "\n".join(plain(question) for question in questions[:HEAD])
    entry = _versions()["heads"].get(_digest(head))
    if entry is None:
        return UNPUBLISHED
    return Published(*entry)


def runs_of(questions: Sequence[str]) -> Iterator[Run]:
    """Divide questions into published samplings; what follows the last of these is one run."""
    first = 0
    while first < len(questions):
        published = published_with(questions[first : first + HEAD])
        end = first + published.rows
        if published == UNPUBLISHED:
            end = len(questions)
        yield Run(published, questions[first:end])
        first = end


def known(questions: Sequence[str]) -> Part | None:
    """Say which samplings some questions are, in their order; None if they are not like POPE's."""
    about_objects = 0
    for question in questions:
        if OBJECT_ASKED.fullmatch(plain(question)):
            about_objects += 1
    if not questions or about_objects < LEAST_ABOUT_OBJECTS * len(questions):
        return None
    runs = list(runs_of(questions))
    datasets = {run.published.dataset for run in runs}
    dataset = ""
    if len(datasets) == 1:
        dataset = datasets.pop()
    return Part(
        dataset,
        about="; ".join(run.about for run in runs),
        lacks_rows=any(run.is_part for run in runs),
    )


def known_answers(questions: Sequence[str]) -> list[str]:
    """Return POPE's answers to some questions, in their order; "" for each that is not POPE's, or not in POPE's order.

    In all of POPE's samplings, yes and no take turns: one by one, or in A-OKVQA's and GQA's random and popular ones,
    three by three.
    """
    answers: list[str] = []
    for run in runs_of(questions):
        # the first 2,910 random questions lack some absent objects, and RePOPE's lack some of each
        if run.published.rows != PER_SAMPLING:
            break
        turn = 3
        if "COCO" in run.published.name or "adversarial" in run.published.name:
            turn = 1
        for place in range(len(run.questions)):
            is_absent = place // turn % 2 == 1
            if is_absent:
                answers.append("no")
            else:
                answers.append("yes")
    unknown = len(questions) - len(answers)
    return answers + [""] * unknown


# By other facts


def may_be_older(sampling: str, rows: int) -> bool:
    """Whether an older version of a sampling has this many rows."""
    return any(name.startswith(f"{sampling} {rows} ") for name in _versions()["older"])


def older_version(sampling: str, rows: int, misspelt: int) -> str:
    """Return when a sampling with this many rows, of which some are misspelt, was published; "" for today's."""
    version: str = _versions()["older"].get(f"{sampling} {rows} {misspelt}", "")
    return version


def are_adversarial(images_and_texts: Sequence[tuple[str, str]]) -> bool:
    """Whether these are the images and plain questions of the adversarial sampling about COCO, in its order."""
    return bool(_digest(repr(images_and_texts)) == _versions()["adversarial"])


def are_corrected_in(sampling: str, hundred: int, ids: Collection[int]) -> bool | None:
    """Whether RePOPE corrected just the answers with these ids, in a hundred of a sampling's ids; None if unknown."""
    digests = _versions()["corrected"][sampling]
    if hundred >= len(digests) or not digests[hundred]:
        return None
    return _digest(repr(sorted(ids))).startswith(digests[hundred])


def _versions() -> dict[str, Any]:
    return read_toml(__file__, "versions.toml")


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:12]
