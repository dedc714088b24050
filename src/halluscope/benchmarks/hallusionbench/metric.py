"""What HallusionBench's data file cannot say: which questions belong together, two verdicts, and a diagnosis.

A control pair is one question about several figures: the original image and edited images, and for a visual supplement
(VS) also no image (section 3.2, equation 1). Its control question has figure_id 0. Keys contain the category and the
subcategory, because `ocr` occurs in both categories.

Each response is judged correct, incorrect or uncertain. Where the diagnosis needs it, a judge also says whether the
response agrees with the response to the control question. Verdicts become scores per question, pair and figure.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from halluscope import options as options_of
from halluscope.benchmarks.hallusionbench import prompts, scoring
from halluscope.benchmarks.hallusionbench.report import HallusionView
from halluscope.benchmarks.hallusionbench.scoring import FAILURES, UNCERTAIN, Layout
from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.graded.metric import Case, Graded
from halluscope.graded.rows import Row, Values
from halluscope.inputs import listed
from halluscope.judging import rules
from halluscope.judging.options import GIVEN, VerdictOptions
from halluscope.judging.verdicts import Judged
from halluscope.judging.votes import NO, YES
from halluscope.reading.fields import Fields
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.stats.tallies import Bools, Ints, Tally

ROLES = ("no_visual", "original", "edited")
"""The kind of image that a question is about, by its `visual_input`."""

UNREAD = -1
HEADLINE = ("aAcc", "qAcc", "fAcc")
CODES = {"correctness": (0, 1, 2), "same": (0, 1)}
"""Verdict -> its codes."""

# Judge -> its name in a signature, with its version, and what it reads in a response to a question
READERS: Mapping[str, tuple[str, Callable[[str, str], str | None]]] = {
    "rules": (rules.KEY, lambda text, question: rules.read(text, question).answer),
    "vlmevalkit": ("vlmevalkit", lambda text, question: _vlmevalkit(text)),
}


def _vlmevalkit(text: str) -> str | None:
    from halluscope.responses import parsers

    return {YES: rules.YES, NO: rules.NO}.get(parsers.vlmevalkit(text))


class Question(Row):
    """A question of HallusionBench."""

    category: str
    subcategory: str
    set_id: int
    gt_answer: str

    @property
    def yes(self) -> bool:
        return self.gt_answer == "yes"

    @property
    def group(self) -> str:
        return f"{self.category}/{self.subcategory}"

    @property
    def set(self) -> str:
        """The set, such as "VD/ocr/3"; questions of a set depend on each other."""
        return f"{self.group}/{self.set_id}"


def describe(question: Any) -> str:
    return (
        f"{question.group} set {question.set_id} figure {question.figure_id} question {question.question_id}"
    )


def _word(row: Fields, name: str) -> str:
    if not (word := row.text(name)).isidentifier():
        raise row.wrong(name, "a word such as 'chart'")
    return word


def _answer(row: Fields, name: str) -> str:
    value: Any = row.given.get(name)
    answer = str(value).strip().lower() if isinstance(value, str | int) else ""
    if answer not in (known := {"yes": "yes", "no": "no", "1": "yes", "0": "no"}):
        raise row.wrong(name, "'yes' or 'no'")
    return known[answer]


class HallusionBench(Graded):
    """HallusionBench's metric."""

    over = "sets"
    row_base = Question
    kinds: ClassVar = {
        "word": (_word, "string"),
        "answer": (_answer, "string"),
    }

    # The rows

    def derive(self, values: Values, where: str) -> Values:
        visual, category, figure = (values[name] for name in ("visual_input", "category", "figure_id"))
        if visual not in (0, 1, 2):
            raise ValueError(
                f"{where}: visual_input is {visual}; expected 0 (none), 1 (original) or 2 (edited)."
            )
        if (visual == 0) != (category == "VS" and figure == 0):
            raise ValueError(
                f"{where}: visual_input is {visual} in {category} with figure_id {figure}; expected 0 for VS rows with "
                "figure_id 0, and for no other row."
            )
        of_set = f"{category}/{values['subcategory']}/{values['set_id']}"
        figure = f"{of_set}_{figure}" if visual else None
        return {
            "pair": f"{of_set}/q{values['question_id']}",
            "figure": figure,
            "filename": figure and f"{figure}.png",
            "role": ROLES[visual],
        }

    def identity(self, row: Any) -> Iterator[Any]:
        yield from (*row.id, row.question, row.yes, row.gt_answer_details)

    def cluster_of(self, row: Any) -> Any:
        return row.set

    def wanted(self, row: Any, *, protocol: str = "official") -> bool:
        """Whether a protocol counts a question: the harnesses count those with a visual, 951 of 1,129."""
        return protocol == "official" or row.visual_input != 0

    def counts(self, rows: Sequence[Any]) -> Values:
        """Return the counts of the dataset's rows (Figure 2 of the paper)."""
        category, role = Counter(row.category for row in rows), Counter(row.role for row in rows)
        cell = Counter((row.group, row.role) for row in rows)
        return {
            "questions": len(rows),
            "visual_dependent": category["VD"],
            "visual_supplement": category["VS"],
            **{name: role[name] for name in ROLES},
            "pairs": len({row.pair for row in rows}),
            "figures": len({row.figure for row in rows} - {None}),
            "answers_yes": sum(row.yes for row in rows),
            "questions_per_subcategory": {
                group: {name: cell[group, name] for name in ROLES}
                for group in sorted({row.group for row in rows})
            },
        }

    def check_images(self, names: list[str], folder: Readable, only_present: bool) -> None:
        """Decode the images of all figures; with `only_present`, some may be missing, but not all."""
        # File names such as 0_0.png occur in several subcategories: only the whole path is unique.
        absent = [name for name in names if not (folder / name).is_file()]
        if absent and (not only_present or len(absent) == len(names)):
            raise BuildError(
                f"{len(absent):,} of the {len(names):,} images are not in {folder}: {', '.join(absent[:5])}. "
                "Name the folder hallusion_bench, which holds VD and VS, or its zip."
            )
        super().check_images([name for name in names if name not in absent], folder, False)

    # The verdicts

    def defaults(self, chosen: Values) -> Values:
        official = chosen["reading"] == "official"
        if official and chosen["prompts"] == "ours":
            raise ValueError(
                "reading is 'official', which reads only replies to the authors' prompts, but prompts is 'ours'; "
                "expected prompts='authors', or reading='strict'."
            )
        usual = super().defaults(
            {**chosen, "prompts": chosen["prompts"] or ("authors" if official else None)}
        )
        return {**usual, "bias": chosen["bias"]}

    def select(self, case: Case) -> Case:
        protocol, rows = case.chosen["protocol"], case.rows
        given = {name: _codes(case.options[name], name, len(rows)) for name in CODES}
        kept = [place for place, row in enumerate(rows) if self.wanted(row, protocol=protocol)]
        if not kept:
            raise ValueError(
                f"No question has a visual, and the protocol {protocol!r} counts only those that have one."
            )
        counted = {name: None if codes is None else codes[kept] for name, codes in given.items()}
        texts = [case.texts[place] for place in kept]
        return Case([rows[place] for place in kept], texts, case.chosen, {**case.options, **counted})

    def judged(self, case: Case) -> Judged:
        rows, texts, chosen = case.rows, case.texts, case.chosen
        given = {name: case.options[name] for name in CODES}
        options = {name: value for name, value in case.options.items() if name not in CODES}
        grading = options_of.build(VerdictOptions, options, self.name, judge="rules")
        layout, diagnosed = Layout.of(rows), chosen["protocol"] == "official"
        if diagnosed:
            _check_controls(rows, layout)
        rule = grading.judge if grading.named(READERS) else None
        needs_judge = given["correctness"] is None or (given["same"] is None and diagnosed)
        if not needs_judge:
            grading.check_once("the verdicts are given and nothing is judged")
        elif rule:
            grading.check_once(f"{rule!r} gives the same verdicts each time")
        else:
            if without := [row for row in rows if not row.question.strip()]:
                raise ValueError(
                    f"{describe(without[0])} has no text in 'question' (rows without one: {len(without)}); a language "
                    "model needs the question. Pass the dataset's whole rows, or judge by 'rules'."
                )
            grading.prepare(READERS)
        reader_key, read = READERS[rule or "rules"]
        bias = chosen["bias"] or ("answers" if given["correctness"] is None and rule else "official")
        pairs = zip(texts, rows, strict=True) if rule or bias == "answers" else ()
        answers = [read(text, row.question) for text, row in pairs]

        def ask(what: str, places: Sequence[int]) -> Ints:
            """Return verdicts [repeats, places], `UNREAD` where one is missing."""
            if rule:
                return np.array([[_by_rule(what, rows, answers, layout, place) for place in places]])
            asked = [
                prompts.asked(
                    what,
                    {
                        "question": rows[place].question,
                        "reference": rows[place].gt_answer_details or ("Yes." if rows[place].yes else "No."),
                        "control": texts[int(layout.control[place])],
                        "answer": texts[place],
                    },
                    chosen["prompts"],
                    chosen["reading"],
                )
                for place in places
            ]
            codes = prompts.CODES[what]
            replies = grading.verdicts(asked)
            return np.array([[UNREAD if one is None else codes[one] for one in repeat] for repeat in replies])

        every: list[int] = []
        if given["correctness"] is None:
            found = ask("correctness", range(len(rows)))
            every += found.ravel().tolist()
        else:
            found = given["correctness"][np.newaxis]
        correctness = np.where(found == UNREAD, UNCERTAIN, found)
        values: dict[str, Any] = {"correctness": correctness, "unread": found == UNREAD}
        if diagnosed and given["same"] is not None:
            values["same"] = np.broadcast_to(given["same"] == 1, correctness.shape)
        elif diagnosed:
            needed = np.array([scoring.needs_same(layout, row) for row in correctness])
            places = np.flatnonzero(needed.any(axis=0)).tolist()
            agreed = ask("same", places) if places else np.zeros((len(correctness), 0), dtype=np.int64)
            shape = max(len(correctness), len(agreed)), len(rows)
            same = np.zeros(shape, dtype=bool)
            same[:, places] = agreed == 1
            every += agreed[np.broadcast_to(needed[:, places], agreed.shape)].tolist()
            values = {name: np.broadcast_to(of, shape) for name, of in values.items()} | {"same": same}
        if bias == "answers":
            known = {
                "yes": [one == rules.YES for one in answers],
                "read": [one is not None for one in answers],
            }
            values |= {name: np.broadcast_to(of, values["correctness"].shape) for name, of in known.items()}
        judge = reader_key if rule else self._key(grading, chosen) if needs_judge else GIVEN
        key = {
            "protocol": chosen["protocol"],
            "correctness": judge if given["correctness"] is None else GIVEN,
            "same": "no" if not diagnosed else judge if given["same"] is None else GIVEN,
            "bias": ["answers", reader_key] if bias == "answers" else bias,
            "unread": every.count(UNREAD) / max(1, len(every)) if needs_judge else None,
            "uncertain": float((found == UNCERTAIN).mean()) if given["correctness"] is None else None,
        }
        if not needs_judge or rule:
            return Judged((), values, key)
        return Judged((), values, key, grading.drawn, [{}] * len(rows))

    def _key(self, grading: VerdictOptions, chosen: Values) -> list[str]:
        named = [grading.chat.key, prompts.PROMPTS[chosen["prompts"]]["key"]]
        return [*named, "official"] if chosen["reading"] == "official" else named

    # The result

    def tally(self, case: Case, values: Values, cluster: Ints, groups: Mapping[str, Bools]) -> Tally:
        layout, correctness = Layout.of(case.rows), values["correctness"]
        good = scoring.right(layout, correctness)
        # the authors' script infers a yes: right where yes is right, or not right where no is right
        yes = values.get("yes", np.equal(good, layout.yes))
        by = case.chosen["diagnosis"]
        failure = scoring.diagnose(layout, correctness, values["same"], by) if "same" in values else None
        found = scoring.tally(layout, good, failure, yes, values.get("read", np.ones_like(good)))
        return {name: found[name] for name in (*self.data["benchmark"]["scores"], *found) if name in found}

    def facts(self, case: Case, scores: Values) -> Values:
        layout, key = Layout.of(case.rows), case.verdicts.key
        headline = float(np.mean([scores[name] for name in HEADLINE]))
        return {
            **({"overall": headline} if key["protocol"] == "vlmevalkit" else {}),
            "unread": key["unread"],
            "uncertain": key["uncertain"],
            "questions": len(case.rows),
            "pairs": len(np.unique(layout.pair)),
            "figures": len(np.unique(layout.figure[~layout.no_visual])),
            "sets": len(np.unique(layout.set)),
            "counts": scoring.counted(layout),
        }

    def signed(self, case: Case) -> Values:
        by = case.verdicts
        first = {name: by.key[name] for name in ("protocol", "correctness", "same")}
        paper = {"diagnosis": "paper"} if case.chosen["diagnosis"] == "paper" and "same" in by.values else {}
        return {**first, "repeats": by.repeats, **by.drawn, "bias": by.key["bias"], **paper}

    def about(self, row: Any) -> Values:
        return {"question": describe(row)}

    def digest(self, case: Case) -> Values:
        if not case.verdicts.by_model:
            return {}
        values = case.verdicts.values
        given = [values[name].astype(int) for name in CODES if name in values]
        each = (
            [*row.id, *(code for of in given for code in of[:, place])] for place, row in enumerate(case.rows)
        )
        return {"verdicts": data_of("verdicts", each)}

    def each(self, case: Case) -> list[Values]:
        layout, values = Layout.of(case.rows), case.verdicts.values
        correctness, same = values["correctness"], values.get("same")
        right = scoring.right(layout, correctness[0])
        none = np.zeros(len(right), dtype=np.int64)
        by = case.chosen["diagnosis"]
        failure = none if same is None else scoring.diagnose(layout, correctness[0], same[0], by)
        several = len(correctness) > 1
        return [
            {
                "correctness": int(correctness[0, place]),
                "aAcc": bool(right[place]),
                "failure": FAILURES[failure[place]] or None,
                "unread": bool(values["unread"][0, place]),
                **({"repeats": {"correctness": correctness[:, place].tolist()}} if several else {}),
            }
            for place in range(len(right))
        ]

    def chance(self, references: Sequence[Any], protocol: str = "official") -> dict[str, float]:
        """Return the expected scores of a model that tosses a coin for yes or no.

        Table 2's "Random Chance" is one such run, judged by GPT-4.
        """
        rows = self.read_all(references)
        return scoring.chance(Layout.of([row for row in rows if self.wanted(row, protocol=protocol)]))


def _by_rule(
    what: str, rows: Sequence[Any], answers: Sequence[str | None], layout: Layout, place: int
) -> int:
    answer = answers[place]
    if what == "same":
        control = answers[int(layout.control[place])]
        return UNREAD if None in (control, answer) else int(control == answer)
    codes = {None: UNREAD, rules.UNCERTAIN: UNCERTAIN}
    return codes.get(answer, int(rows[place].yes == (answer == rules.YES)))


def _codes(values: Any, name: str, rows: int) -> Ints | None:
    if values is None:
        return None
    allowed = CODES[name]
    digits = list(values) if isinstance(values, str) else values
    expected = ", ".join(map(str, allowed))
    given = listed(name, digits, f"a list, one of {expected} per row", rows)
    known: dict[Any, int] = {key: code for code in allowed for key in (code, str(code))}
    codes = []
    for row, value in enumerate(given):
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(plain, int | float | str) or plain not in known:
            raise ValueError(f"{name}[{row}] is {short_repr(value)}; expected {expected}.")
        codes.append(known[plain])
    return np.array(codes, dtype=np.int64)


def _check_controls(rows: Sequence[Any], layout: Layout) -> None:
    missing = np.flatnonzero(layout.control == scoring.NO_CONTROL)
    if len(missing):
        raise ValueError(
            f"references[{missing[0]}] is the question {describe(rows[missing[0]])}, but its control question (figure "
            f"0) is missing (rows without one: {len(missing)}); expected whole control pairs. Score all rows of the "
            "dataset, or leave out the questions without a visual by protocol='lmms-eval' or 'vlmevalkit'."
        )


GRADED = HallusionBench(__package__)
VIEW = HallusionView(GRADED)
compute, chance = GRADED.compute, GRADED.chance
