"""What HallusionBench's data file cannot say: which questions belong together, two verdicts, and a diagnosis.

A control pair is one question about several figures: the original image and edited images, and for a visual supplement
(VS) also no image (section 3.2, equation 1). Its control question has figure_id 0. Keys contain the category and the
subcategory, because `ocr` occurs in both categories.

Each response is judged correct, incorrect or uncertain. Where the diagnosis needs it, a judge also says whether the
response agrees with the response to the control question. Verdicts become scores per question, pair and figure.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from halluscope.benchmarks.hallusionbench import scoring
from halluscope.benchmarks.hallusionbench.scoring import CORRECT, FAILURES, UNCERTAIN, Layout
from halluscope.graded.metric import Case, Graded
from halluscope.graded.report import View
from halluscope.graded.rows import Row, Values
from halluscope.inputs import listed
from halluscope.judging import free_text
from halluscope.judging.options import GIVEN
from halluscope.judging.prompts import Asked, fill, json_object, json_of
from halluscope.judging.verdicts import Criterion, Judged
from halluscope.reading.fields import Fields
from halluscope.reporting.report_items import UNREADABLE, Fact, Item, Kind
from halluscope.reporting.tables import Named, Table, group_table, is_defined, percent, ranked, score, table
from halluscope.responses import parsers
from halluscope.sanitize import encodable, short_repr
from halluscope.signature import data_of
from halluscope.stats.tallies import Bools, Ints, Tally

# the kind of image that a question is about, by its `visual_input`
ROLES = (
    "no_visual",
    "original",
    "edited",
)

UNREAD = -1
# What is asked -> the words of a verdict, and their codes
CODES = {"correctness": {"correct": 1, "incorrect": 0, "unclear": 2}, "same": {"same": 1, "different": 0}}

ANSWERS = {free_text.NO: 0, free_text.YES: 1, free_text.UNCERTAIN: 2, None: UNREAD}
# Judge -> its name in a signature, with its version, and what it reads in a response to a question
READERS: Mapping[str, tuple[str, Callable[[str, str], str | None]]] = {
    "rules": (free_text.KEY, lambda text, question: free_text.read(text, question).answer),
    "vlmevalkit": ("vlmevalkit", lambda text, question: parsers.said_of(parsers.vlmevalkit(text))),
}


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
    known = {"yes": "yes", "no": "no", "1": "yes", "0": "no"}
    if (answer := known.get(str(row.given.get(name)).strip().lower())) is None:
        raise row.wrong(name, "'yes' or 'no'")
    return answer


class HallusionBench(Graded):
    """HallusionBench's metric."""

    rules = (*READERS,)
    over = "sets"
    row_base = Question
    kinds: ClassVar = {
        "word": (_word, "string"),
        "answer": (_answer, "string"),
    }

    # The rows

    def derive(self, values: Values, where: str) -> Values:
        visual, category, figure = (values[name] for name in ("visual_input", "category", "figure_id"))
        if visual not in ((0,) if category == "VS" and figure == 0 else (1, 2)):
            raise ValueError(
                f"{where}: visual_input is {visual} in {category} with figure_id {figure}; expected 0 (no image) for "
                "VS rows with figure_id 0, and 1 (original) or 2 (edited) for all others."
            )
        of_set = f"{category}/{values['subcategory']}/{values['set_id']}"
        shown = f"{of_set}_{figure}" if visual else None
        return {
            "pair": f"{of_set}/q{values['question_id']}",
            "figure": shown,
            "filename": shown and f"{shown}.png",
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

    # The verdicts

    def defaults(self, chosen: Values) -> Values:
        return {**super().defaults(chosen), "bias": chosen["bias"]}

    def select(self, case: Case) -> Case:
        protocol, rows = case.chosen["protocol"], case.rows
        given = {name: case.options[name] for name in CODES if case.options[name] is not None}
        codes = {name: _codes(of, name, len(rows)) for name, of in given.items()}
        kept = [place for place, row in enumerate(rows) if self.wanted(row, protocol=protocol)]
        if not kept:
            raise ValueError(
                f"No question has a visual, and the protocol {protocol!r} counts only those that have one."
            )
        options = {**case.options, **{name: of[kept] for name, of in codes.items()}}
        texts = [case.texts[place] for place in kept]
        return Case([rows[place] for place in kept], texts, case.chosen, options)

    def check(self, rows: Sequence[Any]) -> None:
        if without := [row for row in rows if not row.question.strip()]:
            raise ValueError(
                f"{describe(without[0])} has no text in 'question' (rows without one: {len(without)}); a language "
                "model needs the question. Pass the dataset's whole rows, or judge by 'rules'."
            )

    def judged(self, case: Case) -> Judged:
        rows, texts, chosen = case.rows, case.texts, case.chosen
        given = {name: case.options[name] for name in CODES}
        layout, diagnosed = Layout(rows), chosen["protocol"] == "official"
        missing = np.flatnonzero(layout.control == scoring.NO_CONTROL)
        if diagnosed and len(missing):
            raise ValueError(
                f"references[{missing[0]}] is the question {describe(rows[missing[0]])}, but its control question "
                f"(figure 0) is missing (rows without one: {len(missing)}); expected whole control pairs. Score all "
                "rows of the dataset, or leave out the questions without a visual by protocol='lmms-eval' or "
                "'vlmevalkit'."
            )
        asks = [name for name in ("correctness", *["same"] * diagnosed) if given[name] is None]
        grading = self.grading(case, not asks)
        rule = grading.judge if grading.named(self.rules) else None
        reader, read = READERS[rule or "rules"]
        bias = chosen["bias"] or ("answers" if given["correctness"] is None and rule else "official")
        said = np.full(len(rows), UNREAD)  # 0 no, 1 yes, 2 uncertain
        if rule or bias == "answers":
            pairs = zip(texts, rows, strict=True)
            said = np.array([ANSWERS[read(text, row.question)] for text, row in pairs])
        every: list[int] = []  # all verdicts of a judge

        def verdicts(what: str, needed: Bools) -> Ints:
            """Return verdicts [repeats, rows]: 0 where none is needed, `UNREAD` where it is missing."""
            if given[what] is not None:
                found: Ints = given[what][np.newaxis]
                return found
            places = np.flatnonzero(needed.any(axis=0)).tolist()
            if rule or not places:
                control = said[layout.control]
                same = np.where((said == UNREAD) | (control == UNREAD), UNREAD, said == control)
                right = np.where((said == 0) | (said == 1), said == layout.yes, said)
                codes: Any = [(same if what == "same" else right)[places]]
            else:
                replies = grading.verdicts(
                    [
                        asked(
                            what,
                            {
                                "question": rows[place].question,
                                "reference": rows[place].gt_answer_details
                                or ("Yes." if rows[place].yes else "No."),
                                "control": texts[int(layout.control[place])],
                                "answer": texts[place],
                            },
                            chosen["prompts"],
                            chosen["reading"],
                        )
                        for place in places
                    ]
                )
                codes = [[UNREAD if one is None else CODES[what][one] for one in of] for of in replies]
            found = np.zeros((len(codes), len(rows)), dtype=np.int64)
            found[:, places] = codes
            where, judged = np.broadcast_arrays(needed, found)
            every.extend(judged[where].tolist())
            return found

        found = verdicts("correctness", np.ones((1, len(rows)), dtype=bool))
        correctness = np.where(found == UNREAD, UNCERTAIN, found)
        values = {
            "correctness": correctness,
            "unread": found == UNREAD,
            "aAcc": scoring.right(layout, correctness),
        }
        if diagnosed:
            values["same"] = verdicts("same", scoring.needs_same(layout, correctness)) == 1
            values["failure"] = scoring.diagnose(layout, correctness, values["same"], chosen["diagnosis"])
        if bias == "answers":
            values |= {"yes": said[np.newaxis] == 1, "read": said[np.newaxis] != UNREAD}
        shape = max(map(len, values.values())), len(rows)
        values = {name: np.broadcast_to(of, shape) for name, of in values.items()}
        judge: Any = reader
        if by_model := bool(asks and not rule):
            official = ["official"] if chosen["reading"] == "official" else []
            judge = [grading.chat.key, PROMPTS[chosen["prompts"]]["key"], *official]
        key = {
            "protocol": chosen["protocol"],
            "correctness": judge if "correctness" in asks else GIVEN,
            "same": judge if "same" in asks else GIVEN if diagnosed else "no",
            "bias": ["answers", reader] if bias == "answers" else bias,
            "unread": every.count(UNREAD) / max(1, len(every)) if asks else None,
            "uncertain": float((found == UNCERTAIN).mean()) if "correctness" in asks else None,
        }
        shown = [Criterion("correctness", int)]
        if by_model:
            return Judged(shown, values, key, grading.drawn, [{}] * len(rows))
        return Judged(shown, values, key)

    # The result

    def tally(self, case: Case, values: Values, cluster: Ints, groups: Mapping[str, Bools]) -> Tally:
        layout, good = Layout(case.rows), values["aAcc"]
        # the authors' script infers a yes: right where yes is right, or not right where no is right
        yes, read = values.get("yes", good == layout.yes), values.get("read", np.ones_like(good))
        found = scoring.tally(layout, good, values.get("failure"), yes, read)
        return {name: found[name] for name in (*self.data["benchmark"]["scores"], *found) if name in found}

    def facts(self, case: Case, scores: Values) -> Values:
        key, known = case.verdicts.key, ("pair", "figure", "set")
        headline = float(np.mean([scores[name] for name in ("aAcc", "qAcc", "fAcc")]))
        return {
            **({"overall": headline} if key["protocol"] == "vlmevalkit" else {}),
            **{name: key[name] for name in ("unread", "uncertain")},
            "questions": len(case.rows),
            **{f"{name}s": len({getattr(row, name) for row in case.rows} - {None}) for name in known},
            "counts": scoring.counted(Layout(case.rows)),
        }

    def signed(self, case: Case) -> Values:
        by = case.verdicts
        first = {name: by.key[name] for name in ("protocol", "correctness", "same")}
        paper = {"diagnosis": "paper"} if case.chosen["diagnosis"] == "paper" and "same" in by.values else {}
        return {**first, "repeats": by.repeats, **by.drawn, "bias": by.key["bias"], **paper}

    def about(self, row: Any) -> Values:
        return {"question": describe(row)}

    def digest(self, case: Case) -> Values:
        by = case.verdicts
        codes = (
            np.concatenate([by.values[name] for name in CODES if name in by.values]).T.astype(int).tolist()
        )
        each = ([*row.id, *of] for row, of in zip(case.rows, codes, strict=True))
        return {"verdicts": data_of("verdicts", each)} if by.by_model else {}

    def each(self, case: Case) -> list[Values]:
        values, each = case.verdicts.values, list[Values]()
        failure = values.get("failure", np.zeros_like(values["correctness"]))[0].tolist()
        for row, code in enumerate(failure):
            is_right, is_unread = (bool(values[name][0, row]) for name in ("aAcc", "unread"))
            of = case.verdicts.of(row)
            about = {
                "correctness": of.pop("correctness"),
                "aAcc": is_right,
                "failure": FAILURES[code] or None,
            }
            each.append({**about, "unread": is_unread, **of})
        return each

    def chance(self, references: Sequence[Any], protocol: str = "official") -> dict[str, float]:
        """Return the expected scores of a model that tosses a coin for yes or no.

        Table 2's "Random Chance" is one such run, judged by GPT-4.
        """
        rows = self.read_all(references)
        return scoring.chance(Layout([row for row in rows if self.wanted(row, protocol=protocol)]))


def _codes(values: Any, name: str, rows: int) -> Ints:
    """Return given verdicts as numbers; digits may be texts."""
    codes = sorted(CODES[name].values())
    expected = ", ".join(map(str, codes))
    digits = list(values) if isinstance(values, str) else values
    given = listed(name, digits, f"a list, one of {expected} per row", rows)
    known: dict[Any, int] = {key: code for code in codes for key in (code, str(code))}
    for row, value in enumerate(given):
        if not isinstance(value, int | float | str | np.generic) or value not in known:
            raise ValueError(f"{name}[{row}] is {short_repr(value)}; expected {expected}.")
    return np.array([known[value] for value in given], dtype=np.int64)


# The prompts

_TAKES_BACK = re.compile(
    r"\b(?:no|not|cannot|never|neither|nor|none|wrong|false|mistaken|mistake|conflict|"
    r"conflicts|conflicting|however|but|wait|actually|although|though|instead|rather|unless|"
    r"except|correction|sorry)\b|n't\b"
)


# What follows holds for this project's prompts. A judge may merely repeat a word from a response, such as "correct". So
# if a response contains one of the words for a verdict, the prompt marks all of these words with a suffix that the
# response cannot contain, such as "correct-3f9a1c". A word that occurs in the response then counts only with its
# suffix, and repeating the response never gives a verdict.
#
# One weakness remains: a response that argues for itself may persuade the judge, and nothing here can detect that. A
# judge that is held to the schema (structured output) says one of the words and nothing else; from any other judge, a
# reply that begins with the word and does not take it back also counts.


def asked(what: str, fields: Mapping[str, str], by: str = "ours", reading: str = "strict") -> Asked[str]:
    """Return a prompt that asks for one of the words of `CODES[what]`.

    Section 4.1 of the paper prints the prompt about correctness. It prints neither the frame around that prompt nor a
    prompt that asks whether two responses agree, so both are this project's ("ours"). The authors' script ("authors")
    has both prompts: its words about correctness differ slightly, and its comparison of two responses omits the
    question. The authors' prompts are sent as their script sends them: texts as they are, no schema. Replies are read
    strictly, or as the script reads them ("official"): a reply with "incorrect" in it is incorrect, another with
    "correct" is correct, and any other unclear; a reply with "same" in it says that two responses agree, any other that
    they do not.

    Args:
        what: "correctness" (fields: question, reference, answer) or "same" (question, control, answer).
        fields: the texts that are filled in.
        by: whose prompt.
        reading: how a reply is read, "strict" or "official".
    """
    from hashlib import sha256

    template: str = PROMPTS[by][what]
    words = {word: word for word in CODES[what]}
    fields = {name: text for name, text in fields.items() if f"{{{name}}}" in template}

    def official(reply: str) -> str:
        *others, last = words
        return next((word for word in reversed(others) if word in reply.lower()), last)

    if by == "authors":
        reader = official if reading == "official" else partial(read, known=words)
        return Asked(fill(template, encodable, **fields), reader)
    text = "\n".join(fields[name] for name in ("control", "answer") if name in fields).lower()
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    marks = ("", *(f"-{digest[:length]}" for length in range(6, len(digest))))
    mark = next(mark for mark in marks if not any(word + mark in text for word in words))
    for word in words:
        template = re.sub(rf"([“\"]){word}([”\"])", rf"\1{word}{mark}\2", template)
    marked = {word + mark: word for word in words}
    known = marked | {word: word for word in words if word not in text}
    schema = json_of(verdict={"type": "string", "enum": [*marked]})
    return Asked(fill(template, **fields), partial(read, known=known), schema)


def read(reply: str, known: Mapping[str, str]) -> str | None:
    """Return the verdict of a reply, None if the reply says none of the known words.

    The word must be the "verdict" of a JSON object, or begin the reply, by itself, with nothing after it that may take
    it back.

    >>> known = {"same-3f9a1c": "same", "different-3f9a1c": "different"}
    >>> read("**Same-3f9a1c**.", known), read('{"verdict": "same-3f9a1c"}', known), read("same", known)
    ('same', 'same', None)
    """
    said = json_object(reply)
    if said is not None:
        return known.get(str(said["verdict"])) if said.keys() == {"verdict"} else None
    text = reply.lower().replace("\u2019", "'")
    found = re.match(rf"\W*(?:output\W+)?({'|'.join(known)})\b(?=\W*$|[\W_]*[.,:;!\n])", text)
    if not found:
        return None
    verdict, rest = known[found[1]], text[found.end() :]
    others = set(re.findall(r"[a-z]+", rest)).intersection(known.values()) - {verdict}
    return None if others or _TAKES_BACK.search(rest) else verdict


class HallusionView(View):
    """How results are shown, like Tables 2 and 3, and rows, as control pairs."""

    def tables(
        self, results: Named, *, rows: Sequence[Any] = (), protocol: str = "official", **_: Any
    ) -> list[Table]:
        coin = [("random chance, expected", chance(rows, protocol))] if rows else []
        best, by = ranked([*results, *coin], "aAcc"), self.data["by_category"]
        of_categories = [
            [name, of or "overall", *(score(result, f"{one}{of and '/'}{of}") for one in by)]
            for name, result in results
            for of in (*result["counts"], "")
        ]
        # with the paper's names beside the data's where they differ
        groups, names = group_table(results, "aAcc"), self.data["paper_names"]
        return [
            table(best, self.data["columns"], name="table 2"),
            table(best, self.data["analysis"], self.record.is_points, name="table 3"),
            Table("categories", ["responses", "category", *by], of_categories, left=2, ranked=True),
            groups._replace(header=[names.get(name, name) for name in groups.header]),
        ]

    def meaning(self, scores: Values) -> str:
        if not is_defined(scores["aAcc"]):
            return str(self.data["undefined"])
        shares = {name: percent(scores[name]) for name in ("aAcc", *FAILURES[1:])}
        which = "perfect" if scores["aAcc"] == 1 else "meaning"
        if which == "meaning" and not is_defined(scores[FAILURES[1]]):
            which = "undiagnosed"
        return str(self.data[which].format(**shares))

    def items(self, rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
        right: dict[Any, list[bool]] = defaultdict(list)
        every = [row["inputs"]["references"] for row in rows]
        for row, asked in zip(rows, every, strict=True):
            for group in (asked["pair"], asked["figure"]):
                right[group].append(row["aAcc"])
        for asked, item in zip(every, super().items(rows, options), strict=True):
            pair = right[asked["pair"]]
            shares = {"control pair": pair, **({"figure": right[item.image]} if item.image else {})}
            yield item._replace(
                group=asked["pair"],
                facts=[
                    *item.facts,
                    *(
                        Fact(name, [(f"{sum(of)} of {len(of)} right", "good" if all(of) else "bad")])
                        for name, of in shares.items()
                    ),
                ],
                parts={
                    "category": asked["category"],
                    "subcategory": f"{asked['category']}/{asked['subcategory']}",
                    "asked about": self.data["asked_about"][asked["role"]],
                },
                badness=item.badness + pair.count(False) / len(pair),
            )

    def known(self, asked: Values) -> Iterator[Fact]:
        yield Fact("asked about", [(self.data["asked_about"][asked["role"]], "plain")])
        right, details = asked["gt_answer"], asked["gt_answer_details"]
        yield Fact("right answer", [(f"{right}: {details}" if details else right, "plain")])

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        asked = row["inputs"]["references"]
        kind: Kind = "good" if row["aAcc"] else "bad"
        said = self.data["verdicts"][row["correctness"]]
        if row["unread"]:
            said, kind = "unreadable, which counts as uncertain", "open"
        elif row["aAcc"] and row["correctness"] != CORRECT:
            said = "uncertain, which is right without an image"
        yield Fact("verdict", [(said, kind)])
        if failure := row["failure"]:
            leaves = self.data["leaves"][failure]
            leaf = leaves.get(asked["category"] if asked["figure"] else "none") or leaves["any"]
            yield Fact("failure", [(f"{failure.replace('_', ' ')}: {leaf}", "bad")])

    def errors(self, row: Values) -> list[str]:
        why = row["failure"] or self.data["verdicts"][row["correctness"]]
        failed = [] if row["aAcc"] else [why.replace("_", " ")]
        return [*failed, *([UNREADABLE] if row["unread"] else [])]

    def badness(self, row: Values) -> float:
        return float(not row["aAcc"])

    def asks(self, row: Values) -> tuple[str, dict[str, tuple[Any, int]]]:
        return super().asks({**row, "right": row["aAcc"]})


GRADED = HallusionBench(__file__)
VIEW = HallusionView(GRADED)
PROMPTS = GRADED.data["prompts"]
compute, chance = GRADED.compute, GRADED.chance
