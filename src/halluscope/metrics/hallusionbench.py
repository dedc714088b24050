"""HallusionBench: language hallucination and visual illusion, told apart by control pairs (Guan et al., CVPR 2024).

Each answer is judged correct, incorrect or uncertain; where the diagnosis needs it, also whether it agrees with the
answer to the control question, the same question about the original image or about none. Verdicts become scores of
questions, pairs and figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from halluscope import replies
from halluscope.answers import NO, YES
from halluscope.judges import hallusionbench_prompts as prompts
from halluscope.judges import rules
from halluscope.judges.chat import MAX_TOKENS
from halluscope.metrics.inputs import check_texts, warn_of_a_part
from halluscope.metrics.judging import GIVEN, Asking
from halluscope.records.control_pairs import NO_VISUAL, VisualQuestion, describe, read_all
from halluscope.scoring import hallusionbench as scoring
from halluscope.scoring import tallies as tallying
from halluscope.scoring.bootstrap import Bootstrap
from halluscope.scoring.hallusionbench import CORRECT, FAILURES, INCORRECT, UNCERTAIN, Layout
from halluscope.scoring.tallies import Ints, Tally
from halluscope.signature import signature
from halluscope.store import AnswerStore

UNREAD = -1
HEADLINE = ("aAcc", "qAcc", "fAcc")


@dataclass(frozen=True)
class Counting:
    """How a harness counts.

    Attributes:
        visual_only: questions without a visual are left out: 951 of the 1,129.
        mean: the mean of aAcc, qAcc and fAcc is given too, as `overall`.
    """

    visual_only: bool = False
    mean: bool = False

    @property
    def questions(self) -> int:
        """How many of the benchmark's questions are counted."""
        return 951 if self.visual_only else 1129


PROTOCOLS = {
    "official": Counting(),
    "lmms-eval": Counting(visual_only=True),
    "vlmevalkit": Counting(visual_only=True, mean=True),
}

BIAS = ("answers", "official")


def compute(
    predictions: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    judge: Any = "rules",
    repeats: int = 1,
    correctness: ArrayLike | str | None = None,
    same: ArrayLike | str | None = None,
    protocol: str = "official",
    bias: str | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    max_failed: float = 0.02,
    max_tokens: int = MAX_TOKENS,
    per_question: bool = False,
    device: str | None = None,
    store: AnswerStore | str | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """Score an LVLM's answers to HallusionBench's questions.

    Args:
        predictions: the LVLM's raw texts, one a question.
        references: the dataset's rows without images, in the same order; upstream's own rows serve as well.
        judge: "rules" (no model), "vlmevalkit" (that harness' way to read yes and no, without its judge), or a
            language model: an endpoint "openai:MODEL[@BASE_URL]", a local model's folder, Hub id or GGUF file, or a
            chat judge.
        repeats: how often a language model judges; the scores are means (section 4.1: three).
        correctness: 0 incorrect, 1 correct, 2 uncertain, one a row; when given, nothing judges it.
        same: 1 if the answer agrees with the control question's, else 0, one a row; when given, nothing judges it.
        protocol: "official" (all questions), "lmms-eval" or "vlmevalkit" (only those with a visual).
        bias: what counts as a yes in `pct_diff` and `fp_ratio`: "answers" is equations 6 and 7 over the answers that
            could be read; "official" infers it from the verdicts, as the authors' script does. By default "answers"
            where rules judge correctness, else "official".
        bootstrap: how many resamples of the sets an interval is made of; 0 for none. Questions of a set depend on
            each other.
        seed: of the bootstrap.
        level: of the interval, in (0, 1).
        max_failed: the share of a language model's replies that may be unreadable before that is an error.
        max_tokens: how long a reply may be of a language model that is named; a chat judge that is given has its own.
        per_question: also give, for each question, its verdicts and what the answer failed of (first repeat).
        device: where a local language model runs; by default a GPU if there is one.
        store: where language models' replies are kept: a path, or by default the user's cache.
        progress: show what a language model is doing.

    Returns:
        `aAcc` (equation 3), `qAcc` (5), `fAcc` (4), `easy_aAcc` and `hard_aAcc` (the share of pairs all of whose
        questions about no or an original image, or about an edited one, are right), `correct`, `inconsistent` and
        `wrong` (shares of the figures, section 4.3.2), `language_hallucination`, `visual_illusion` and `mixed` (shares
        of the failed answers, Figure 3), and `aAcc/<category>/<subcategory>`, fractions in [0, 1]; `pct_diff`
        (equation 6) in [-1, 1]; `fp_ratio` (equation 7) in [0, 1].
        A share of nothing is NaN: of a perfect model the `fp_ratio` and the diagnosis; without the questions that have
        no visual ("lmms-eval", "vlmevalkit") the diagnosis. With "vlmevalkit" also `overall`.
        `unread`, the share of answers or verdicts that could not be read (they count as uncertain), and `uncertain`,
        the share of the others that are uncertain, None for given verdicts; `questions`, `pairs`, `figures`, `sets`;
        `signature`; `interval` with a bootstrap, and with repeats `spread`, each figure's least and greatest value.

    Raises:
        ValueError: for any bad input, before a model is asked.
    """
    check_texts(predictions, references)
    questions = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    asking = Asking(judge, repeats, max_failed, max_tokens, device, store, progress)
    counting = _known(PROTOCOLS, "protocol", protocol)
    given = _codes(correctness, "correctness", (0, 1, 2), len(questions))
    agreed = _codes(same, "same", (0, 1), len(questions))
    kept = _counted(questions, protocol)
    questions, predictions = [questions[row] for row in kept], [predictions[row] for row in kept]
    given, agreed = (None if codes is None else codes[kept] for codes in (given, agreed))
    layout = Layout.of(questions)
    if not counting.visual_only:
        _check_controls(questions, layout)
    warn_of_a_part(len(questions), counting.questions)
    bias = bias or ("answers" if given is None and asking.named(READERS) else "official")
    if bias not in BIAS:
        raise ValueError(f"bias is {bias!r:.80}; expected {' or '.join(map(repr, BIAS))}.")
    needs_judge = given is None or (agreed is None and not counting.visual_only)
    if needs_judge and not asking.named(READERS):
        _check_worded(questions)
    judging = _judging(asking) if needs_judge else None
    if not needs_judge:
        asking.check_once("the verdicts are given and nothing is judged")
    verdicts = _judge(judging, questions, predictions, layout, given, agreed, not counting.visual_only)
    reader = READERS.get(judge if isinstance(judge, str) else "", READERS["rules"])
    tallies = _tallies(layout, verdicts, reader if bias == "answers" else None, questions, predictions)

    result: dict[str, Any] = tallying.figures(tallies)
    if counting.mean:
        result["overall"] = float(np.mean([result[name] for name in HEADLINE]))
    judge_key = judging.key if judging else GIVEN
    result |= {
        "unread": verdicts.unread,
        "uncertain": verdicts.uncertain,
        "questions": len(questions),
        "pairs": len(np.unique(layout.pair)),
        "figures": len(np.unique(layout.figure[~layout.no_visual])),
        "sets": layout.sets,
        "signature": signature(
            "hallusionbench",
            protocol=protocol,
            questions=len(questions),
            correctness=judge_key if given is None else GIVEN,
            same=_same_key(counting, agreed, judge_key),
            repeats=len(tallies),
            bias=["answers", reader.key] if bias == "answers" else bias,
            interval=resampling,
        ),
    }
    if bootstrap:
        result["interval"] = resampling.intervals(layout.sets, partial(tallying.score, tallies))
    if len(tallies) > 1:
        result["spread"] = tallying.spread(tallies)
    if per_question:
        result["per_question"] = _of_each_question(questions, layout, verdicts)
    return result


def chance(references: Sequence[Mapping[str, Any]], protocol: str = "official") -> dict[str, float]:
    """The expected scores of a model that tosses a coin for yes or no.

    Table 2's "Random Chance" is one such run, as GPT-4 judged it.
    """
    questions = read_all(references)
    return scoring.chance(Layout.of([questions[row] for row in _counted(questions, protocol)]))


# Who judges.


@dataclass(frozen=True)
class _Verdicts:
    """Verdicts [repeats, rows], unread ones made uncertain or different, and shares of what was judged."""

    correctness: Ints
    same: Ints | None
    unread: float | None
    uncertain: float | None


class _Judging(Protocol):
    """Gives verdicts [repeats, rows], `UNREAD` where there is none."""

    @property
    def key(self) -> Any:
        """What stands in a signature."""

    def correctness(self, questions: Sequence[VisualQuestion], texts: Sequence[str]) -> Ints:
        """0, 1 or 2."""

    def same(
        self, questions: Sequence[VisualQuestion], controls: Sequence[str], texts: Sequence[str]
    ) -> Ints:
        """1 if the answers to a question about two figures agree, else 0."""


class _Reader:
    """Reads yes, no or uncertain, and compares that with what is right."""

    def __init__(self, key: str, read: Callable[[str, str], str | None]) -> None:
        self._key, self._read = key, read

    @property
    def key(self) -> str:
        """Names its rules and their version."""
        return self._key

    def read(self, questions: Sequence[VisualQuestion], texts: Sequence[str]) -> list[str | None]:
        return [self._read(text, question.question) for question, text in zip(questions, texts, strict=True)]

    def correctness(self, questions: Sequence[VisualQuestion], texts: Sequence[str]) -> Ints:
        codes = {None: UNREAD, rules.UNCERTAIN: UNCERTAIN}
        answers = zip(questions, self.read(questions, texts), strict=True)
        return np.array(
            [[codes.get(answer, int(question.yes == (answer == rules.YES))) for question, answer in answers]]
        )

    def same(
        self, questions: Sequence[VisualQuestion], controls: Sequence[str], texts: Sequence[str]
    ) -> Ints:
        pairs = zip(self.read(questions, controls), self.read(questions, texts), strict=True)
        return np.array([[UNREAD if None in pair else int(pair[0] == pair[1]) for pair in pairs]])


def _read_vlmevalkit(text: str, _: str) -> str | None:
    return {YES: rules.YES, NO: rules.NO}.get(replies.vlmevalkit(text))


READERS = {
    "rules": _Reader(rules.KEY, lambda text, question: rules.read(text, question).answer),
    "vlmevalkit": _Reader("vlmevalkit", _read_vlmevalkit),
}


class _LanguageModel:
    """Asks a language model, with the prompts of `hallusionbench_prompts`."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    @property
    def key(self) -> list[str]:
        """The judge's, which its first reply may change, and the prompts'."""
        return [self._asking.chat.key, prompts.KEY]

    def correctness(self, questions: Sequence[VisualQuestion], texts: Sequence[str]) -> Ints:
        asked = [
            {
                "question": question.question,
                "reference": question.details or _word(question.yes),
                "answer": text,
            }
            for question, text in zip(questions, texts, strict=True)
        ]
        codes = {"incorrect": INCORRECT, "correct": CORRECT, "unclear": UNCERTAIN}
        return _coded(self._asking.verdicts(prompts.CORRECTNESS, asked, prompts.read_correctness), codes)

    def same(
        self, questions: Sequence[VisualQuestion], controls: Sequence[str], texts: Sequence[str]
    ) -> Ints:
        asked = [
            {"question": question.question, "control": control, "answer": text}
            for question, control, text in zip(questions, controls, texts, strict=True)
        ]
        return _coded(
            self._asking.verdicts(prompts.SAME, asked, prompts.read_same), {"same": 1, "different": 0}
        )


def _coded(words: Sequence[Sequence[str | None]], codes: Mapping[str, int]) -> Ints:
    return np.array([[UNREAD if word is None else codes[word] for word in row] for row in words])


def _judging(asking: Asking) -> _Judging:
    """Who judges; a language model is looked for now, before any answer is read."""
    if asking.named(READERS):
        asking.check_once(f"{asking.judge!r} gives the same verdicts each time")
        return READERS[asking.judge]
    asking.prepare()
    return _LanguageModel(asking)


def _judge(
    judging: _Judging | None,
    questions: Sequence[VisualQuestion],
    texts: Sequence[str],
    layout: Layout,
    given: Ints | None,
    agreed: Ints | None,
    diagnosed: bool,
) -> _Verdicts:
    """Judge what is not given; whether answers agree only where the diagnosis needs it, if there is one."""
    judged = given[np.newaxis] if given is not None else _of(judging).correctness(questions, texts)
    replied = judged.ravel() if given is None else np.array([], dtype=np.int64)
    correctness = np.where(judged == UNREAD, UNCERTAIN, judged)
    same = None
    if diagnosed and agreed is not None:
        same = np.broadcast_to(agreed, correctness.shape)
    elif diagnosed:
        same, asked = _agreement(_of(judging), questions, texts, layout, correctness)
        correctness = np.broadcast_to(correctness, same.shape)
        replied = np.concatenate([replied, asked])
    return _Verdicts(
        correctness,
        same,
        unread=None if judging is None else float((replied == UNREAD).sum() / max(1, len(replied))),
        uncertain=None if given is not None else float((judged == UNCERTAIN).mean()),
    )


def _agreement(
    judging: _Judging,
    questions: Sequence[VisualQuestion],
    texts: Sequence[str],
    layout: Layout,
    correctness: Ints,
) -> tuple[Ints, Ints]:
    """Whether answers agree with their controls' [repeats, rows], 0 where that moves nothing; and what was asked."""
    needed = np.array([scoring.needs_same(layout, row) for row in correctness])
    rows = np.flatnonzero(needed.any(axis=0)).tolist()
    if not rows:
        return np.zeros_like(correctness), np.array([], dtype=np.int64)
    controls = [texts[int(layout.control[row])] for row in rows]
    found = judging.same([questions[row] for row in rows], controls, [texts[row] for row in rows])
    same = np.zeros((max(len(correctness), len(found)), len(questions)), dtype=np.int64)
    same[:, rows] = found == 1
    return same, found[np.broadcast_to(needed[:, rows], found.shape)]


def _of(judging: _Judging | None) -> _Judging:
    assert judging is not None, "compute makes one unless all verdicts are given"
    return judging


# What comes of it.


def _tallies(
    layout: Layout,
    verdicts: _Verdicts,
    reader: _Reader | None,
    questions: Sequence[VisualQuestion],
    texts: Sequence[str],
) -> list[Tally]:
    """A tally a repeat; a reader tells yes from no where the verdicts shall not."""
    said = None if reader is None else reader.read(questions, texts)
    yes = None if said is None else np.array([answer == rules.YES for answer in said])
    read = None if said is None else np.array([answer is not None for answer in said])
    return [
        scoring.tally(
            layout,
            correctness,
            None if verdicts.same is None else verdicts.same[repeat] == 1,
            scoring.said_yes_officially(layout, correctness) if yes is None else yes,
            read,
        )
        for repeat, correctness in enumerate(verdicts.correctness)
    ]


def _of_each_question(
    questions: Sequence[VisualQuestion], layout: Layout, verdicts: _Verdicts
) -> list[dict[str, Any]]:
    correctness = verdicts.correctness[0]
    same = None if verdicts.same is None else verdicts.same[0] == 1
    right = scoring.right(layout, correctness)
    failure = [0] * len(questions) if same is None else scoring.diagnose(layout, correctness, same)
    return [
        {
            "question": describe(question.id),
            "correctness": int(correctness[row]),
            "right": bool(right[row]),
            "failure": FAILURES[failure[row]] or None,
        }
        for row, question in enumerate(questions)
    ]


# What is checked.


def _counted(questions: Sequence[VisualQuestion], protocol: str) -> list[int]:
    """The rows that a protocol counts."""
    visual_only = _known(PROTOCOLS, "protocol", protocol).visual_only
    kept = [row for row, one in enumerate(questions) if not visual_only or one.visual_input != NO_VISUAL]
    if not kept:
        raise ValueError(f"No question has a visual; the protocol {protocol!r} counts no other.")
    return kept


def _known(table: Mapping[str, Counting], name: str, value: Any) -> Counting:
    if not isinstance(value, str) or value not in table:
        raise ValueError(f"{name} is {value!r:.80}; expected {' or '.join(map(repr, table))}.")
    return table[value]


def _codes(values: Any, name: str, allowed: tuple[int, ...], rows: int) -> Ints | None:
    """Given verdicts as numbers; digits may be text, in a list or in one string."""
    if values is None:
        return None
    try:
        listed = list(values)
    except TypeError as error:
        raise ValueError(
            f"{name} is {values!r:.80}; expected a list, one of {', '.join(map(str, allowed))} a row."
        ) from error
    if len(listed) != rows:
        raise ValueError(
            f"There are {len(listed)} values of {name} and {rows} questions; expected one of each a row."
        )
    known: dict[Any, int] = {key: code for code in allowed for key in (code, str(code))}
    codes = []
    for row, value in enumerate(listed):
        plain = _number(value)
        if not isinstance(plain, int | float | str) or plain not in known:
            raise ValueError(f"{name}[{row}] is {value!r:.80}; expected {', '.join(map(str, allowed))}.")
        codes.append(known[plain])
    return np.array(codes, dtype=np.int64)


def _number(value: Any) -> Any:
    """A plain number of an array's or a tensor's element; anything else as it is."""
    try:
        return value.item()
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return value


def _check_worded(questions: Sequence[VisualQuestion]) -> None:
    """Check that a language model can be told what was asked."""
    without = [row for row, question in enumerate(questions) if not question.question.strip()]
    if without:
        raise ValueError(
            f"{describe(questions[without[0]].id)} has no text in 'question', as {len(without)} of the rows; a "
            "language model is asked with it. Pass the dataset's whole rows, or judge by 'rules'."
        )


def _check_controls(questions: Sequence[VisualQuestion], layout: Layout) -> None:
    missing = np.flatnonzero(layout.control == scoring.NO_CONTROL)
    if len(missing):
        question = questions[missing[0]]
        raise ValueError(
            f"references[{missing[0]}] is the question {describe(question.id)}, but its control question (figure 0) is "
            f"not there, as for {len(missing)} rows in all; expected whole control pairs. Score all rows of the "
            "dataset, or leave out the questions without a visual by protocol='lmms-eval' or 'vlmevalkit'."
        )


def _same_key(counting: Counting, agreed: Ints | None, judge_key: Any) -> Any:
    if counting.visual_only:
        return "no"
    return judge_key if agreed is None else GIVEN


def _word(yes: bool) -> str:
    return "Yes." if yes else "No."
