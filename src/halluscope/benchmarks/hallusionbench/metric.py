"""What HallusionBench's data file cannot say: which questions belong together, two verdicts, and a diagnosis.

A control pair is one question about several figures: the original image and edited images, and for a visual supplement
(VS) also no image (section 3.2, equation 1). Its control question has figure_id 0.

Each response is judged correct, incorrect or uncertain. Where the diagnosis needs it, a judge also says whether the
response agrees with the response to the control question.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from halluscope.benchmarks.hallusionbench import scoring
from halluscope.benchmarks.hallusionbench.given import UNREAD, Given, given
from halluscope.benchmarks.hallusionbench.scoring import CORRECT, FAILURES, UNCERTAIN, Layout
from halluscope.graded.metric import Case, Graded
from halluscope.graded.report import View
from halluscope.graded.rows import Row, Values
from halluscope.judging import free_text, guard
from halluscope.judging.options import VerdictOptions
from halluscope.judging.prompts import PromptSpec, Refusal, fill, json_object, json_of
from halluscope.judging.verdicts import Criterion, Judged
from halluscope.options import check_effect
from halluscope.reporting.report_items import UNREADABLE, Fact, Item, Kind
from halluscope.reporting.tables import Named, Table, group_table, is_defined, ranked, score, table
from halluscope.responses import parsers
from halluscope.responses.read_otherwise import Readings, warn_if_read_otherwise
from halluscope.sanitize import encodable
from halluscope.signature import data_of
from halluscope.stats.intervals import Range
from halluscope.stats.tallies import Bools, Ints, Tally

ROLES = ("no_visual", "original", "edited")  # what a question is about, by its `visual_input`

OURS = "rules"  # our rule; the others are published ones
# What is asked -> the words of a verdict, and their codes
CODES = {"correctness": {"correct": 1, "incorrect": 0, "unclear": 2}, "same": {"same": 1, "different": 0}}

ANSWERS = {free_text.NO: 0, free_text.YES: 1, free_text.UNCERTAIN: 2, None: UNREAD}
# Judge -> its name in a signature, with its version, and what it reads in a response to a question
READERS: Mapping[str, tuple[str, Callable[[str, str], str | None]]] = {
    OURS: (free_text.KEY, lambda text, question: free_text.read(text, question).answer),
    "vlmevalkit": ("vlmevalkit", lambda text, question: parsers.word_of(parsers.vlmevalkit(text))),
}


class Question(Row):
    """A question of HallusionBench."""

    category: str
    subcategory: str
    set_id: int
    figure_id: int
    question_id: int
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

    @property
    def title(self) -> str:
        return f"{self.group} set {self.set_id} figure {self.figure_id} question {self.question_id}"


class HallusionBench(Graded):
    """HallusionBench's metric."""

    def other_answers(self, row: Any) -> tuple[str, ...]:
        """Return the right answer in a sentence, which stands beside yes or no."""
        return (row.gt_answer_details,)

    rules = (*READERS,)
    over = "sets"
    row_base = Question

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
        """Return the rows that the protocol counts, with the codes of given verdicts on them."""
        protocol, options = case.chosen["protocol"], {**case.options}
        counts = [self.wanted(row, protocol=protocol) for row in case.rows]
        for name in CODES:
            if options[name] is not None:
                options[name] = self._given(name, case).among(np.array(counts))
        if not any(counts):
            raise ValueError(
                f"No question has a visual, and the protocol {protocol!r} counts only those that have one."
            )
        rows, texts = ([*compress(of, counts)] for of in (case.rows, case.texts))
        return replace(case, rows=rows, texts=texts, options=options)

    def _given(self, name: str, case: Case) -> Given:
        """Return given verdicts; texts reply to the authors' prompt, unless the user names another."""
        by = case.written.get("prompts") or "authors"
        words = CODES[name]
        known = {word: word for word in words}
        key = [PROMPTS[by]["key"]]
        reader: Callable[[str], str | None] = partial(read, known=known)
        if case.chosen["reading"] == "official":
            key.append("official")
            reader = partial(_read_officially, known=known)
        return given(name, case.options[name], len(case.rows), words, reader, key)

    def check(self, rows: Sequence[Any]) -> None:
        if without := [row for row in rows if not row.question.strip()]:
            raise ValueError(
                f"{without[0].title} has no text in 'question' (rows without one: {len(without)}); a language "
                "model needs the question. Pass the dataset's whole rows, or judge by 'rules'."
            )

    def judged(self, case: Case) -> Judged:
        rows, chosen, layout = case.rows, case.chosen, Layout(case.rows)
        diagnosed = chosen["protocol"] == "official"
        missing = np.flatnonzero(layout.control == scoring.NO_CONTROL)
        if diagnosed and len(missing):
            raise ValueError(
                f"references[{missing[0]}] is the question {rows[missing[0]].title}, but its control question "
                f"(figure 0) is missing (rows without one: {len(missing)}); expected whole control pairs. Score all "
                "rows of the dataset, or leave out the questions without a visual by protocol='lmms-eval' or "
                "'vlmevalkit'."
            )
        by_user = {what: case.options[what] for what in CODES if case.options[what] is not None}
        known = {what: verdicts.codes for what, verdicts in by_user.items()}
        asks = [what for what in CODES if what not in known and (diagnosed or what == "correctness")]
        grading = self.grading(case, not asks)
        rule = grading.judge if grading.named(self.rules) else None
        by_model = bool(asks and not rule)
        of_texts = [what for what, verdicts in by_user.items() if verdicts.are_texts]
        _check_effects(case, self, asks, rule, by_model or bool(of_texts))
        reader, read = READERS[rule or OURS]
        bias = chosen["bias"] or ("answers" if rule and "correctness" in asks else "official")
        if rule or bias == "answers":
            pairs = zip(case.texts, rows, strict=True)
            said = np.array([[ANSWERS[read(text, row.question)] for text, row in pairs]])
        if rule:
            known = {**_ruled(said, layout), **known}
            self._compare_with_rules(case, rule, said[0], layout)
        missed: list[Bools] = []  # which of the verdicts that were needed could not be read

        def verdicts(what: str, needed: Bools) -> Ints:
            """Return verdicts [repeats, rows], `UNREAD` where one is missing; what is not needed may be anything."""
            found = known[what] if what in known else self._asked(what, needed, case, layout, grading)
            if what in asks or what in of_texts:
                where, is_unread = np.broadcast_arrays(needed, found == UNREAD)
                missed.append(is_unread[where])
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
            values |= {"yes": said == 1, "read": said != UNREAD}
        repeats = max(map(len, values.values()))
        judge: Any = reader
        if by_model:
            official = ["official"] if chosen["reading"] == "official" else []
            judge = [grading.chat.key, PROMPTS[chosen["prompts"]]["key"], *official]
        by: dict[str, Any] = {what: by_user[what].key if what in by_user else judge for what in CODES}
        drawn = grading.drawn if by_model else {}
        key = {
            "signature": {
                "protocol": chosen["protocol"],
                **(by if diagnosed else {**by, "same": "no"}),
                "repeats": repeats,
                **drawn,
                "bias": ["answers", reader] if bias == "answers" else bias,
                **({"diagnosis": "paper"} if diagnosed and chosen["diagnosis"] == "paper" else {}),
            },
            "unread": float(sum(map(np.sum, missed)) / max(1, sum(map(len, missed)))) if missed else None,
            "uncertain": float((found == UNCERTAIN).mean()) if "correctness" in [*asks, *of_texts] else None,
        }
        values = {name: np.broadcast_to(of, (repeats, len(rows))) for name, of in values.items()}
        return Judged([Criterion("correctness", int)], values, key, drawn, [{}] * len(rows) * by_model)

    def _compare_with_rules(self, case: Case, rule: str, said: Ints, layout: Layout) -> None:
        """Warn if a published rule reads many responses otherwise than `rules` does."""
        if rule == OURS:
            return
        rows = zip(case.texts, case.rows, strict=True)
        by_rules = np.array([ANSWERS[READERS[OURS][1](text, row.question)] for text, row in rows])
        by_rules[by_rules == ANSWERS[free_text.UNCERTAIN]] = UNREAD
        right = np.where(layout.yes, ANSWERS[free_text.YES], ANSWERS[free_text.NO])
        readings = Readings(case.texts, rule, said, by_rules, right, _word_of, OURS, "judge")
        warn_if_read_otherwise(readings)

    def _asked(self, what: str, needed: Bools, case: Case, layout: Layout, grading: VerdictOptions) -> Ints:
        """Ask a language model about the rows that need a verdict; return codes [repeats, rows], 0 for the others."""
        which = np.asarray(needed.any(axis=0))
        prompts = [
            asked(
                what,
                {
                    "question": row.question,
                    "reference": row.gt_answer_details or ("Yes." if row.yes else "No."),
                    "control": case.texts[control],
                    "answer": text,
                },
                case.chosen["prompts"],
                case.chosen["reading"],
            )
            for row, text, control in compress(zip(case.rows, case.texts, layout.control, strict=True), which)
        ]
        codes: Mapping[Any, int] = CODES[what]
        replies = grading.verdicts(prompts) if prompts else [[]]
        found = np.zeros((len(replies), len(which)), dtype=np.int64)
        found[:, which] = [[codes.get(word, UNREAD) for word in each] for each in replies]
        return found

    # The result

    def tally(self, case: Case, values: Values, cluster: Ints, groups: Mapping[str, Bools]) -> Tally:
        layout, good = Layout(case.rows), values["aAcc"]
        # the authors' script infers a yes: right where yes is right, or not right where no is right
        yes, read = values.get("yes", good == layout.yes), values.get("read", np.ones_like(good))
        found = scoring.tally(layout, good, values.get("failure"), yes, read)
        return {name: found[name] for name in (*self.data["benchmark"]["scores"], *found) if name in found}

    def ranges(self) -> dict[str, Range]:
        return super().ranges() | {"pct_diff": Range(-1.0, 1.0)}

    def facts(self, case: Case, scores: Values) -> Values:
        headline = [scores[name] for name in ("aAcc", "qAcc", "fAcc")]
        return {
            **({"overall": float(np.mean(headline))} if case.chosen["protocol"] == "vlmevalkit" else {}),
            **{name: case.verdicts.key[name] for name in ("unread", "uncertain")},
            "questions": len(case.rows),
            "pairs": len({row.pair for row in case.rows}),
            "figures": len({row.figure for row in case.rows} - {None}),
            "sets": len({row.set for row in case.rows}),
            "counts": scoring.counted(Layout(case.rows)),
        }

    def signed(self, case: Case) -> Values:
        signed: Values = case.verdicts.key["signature"]
        return signed

    def about(self, row: Any) -> Values:
        return {"question": row.title}

    def digest(self, case: Case) -> Values:
        values = case.verdicts.values
        codes = np.concatenate([values[name] for name in CODES if name in values]).T.astype(int).tolist()
        each = ([*row.id, *of] for row, of in zip(case.rows, codes, strict=True))
        return {"verdicts": data_of("verdicts", each)} if case.verdicts.by_model else {}

    def each(self, case: Case) -> list[Values]:
        by = case.verdicts
        failure = by.values.get("failure", np.zeros_like(by.values["correctness"]))[0]
        return [
            {
                "correctness": None,
                "aAcc": bool(by.values["aAcc"][0, row]),
                "failure": FAILURES[code] or None,
                "unread": bool(by.values["unread"][0, row]),
                **by.of(row),
            }
            for row, code in enumerate(failure)
        ]

    def chance(self, references: Sequence[Any], protocol: str = "official") -> dict[str, float]:
        """Return the expected scores of a model that tosses a coin for yes or no.

        Table 2's "Random Chance" is one such run, judged by GPT-4.
        """
        rows = self.read_all(references)
        return scoring.chance(Layout([row for row in rows if self.wanted(row, protocol=protocol)]))


def _word_of(code: int) -> str | None:
    return {ANSWERS[free_text.NO]: free_text.NO, ANSWERS[free_text.YES]: free_text.YES}.get(code)


def _check_effects(
    case: Case, metric: HallusionBench, asks: Sequence[str], rule: str | None, reads_replies: bool
) -> None:
    """Refuse options that cannot matter: how replies are read where none is, and a diagnosis that is not made."""
    if not reads_replies:
        why = f"{rule!r} asks no model" if asks else "the verdicts are given as numbers, so no reply is read"
        check_effect(case.written, metric.reply_options, why)
    if rule and not asks and case.chosen["bias"] != "answers":
        why = "the verdicts are given, and no yes is read from responses (bias='answers')"
        check_effect(case.written, ["judge"], why, {"judge": metric.data["judge"]["default"]})
    protocol = case.chosen["protocol"]
    if protocol != "official":
        why = f"the protocol {protocol!r} leaves out the questions without a visual, so it diagnoses nothing"
        check_effect(case.written, ["diagnosis"], why, {"diagnosis": metric.choices["diagnosis"][0]})


def _ruled(said: Ints, layout: Layout) -> dict[str, Ints]:
    """Return verdicts by what was read in responses: no, yes, uncertain or `UNREAD`."""
    control = said[:, layout.control]
    return {
        "correctness": np.where((said == 0) | (said == 1), said == layout.yes, said),
        "same": np.where((said == UNREAD) | (control == UNREAD), UNREAD, said == control),
    }


# The prompts

_TAKES_BACK = re.compile(
    r"\b(?:no|not|cannot|never|neither|nor|none|wrong|false|mistaken|mistake|conflict|"
    r"conflicts|conflicting|however|but|wait|actually|although|though|instead|rather|unless|"
    r"except|correction|sorry)\b|n't\b"
)


# A judge may merely repeat a word from a response, such as "correct". So if a response contains one of the words for a
# verdict, this project's prompt marks all of these words with a suffix that the response cannot contain, such as
# "correct-3f9a1c". Then each word counts only with its suffix, whichever of them the response contains: repeating the
# response never gives a verdict, and no verdict is easier to give than another.
#
# The authors' prompt cannot be marked. If a response holds one of the words as a reply to it would, no reply about that
# response is read.
#
# One weakness remains: a response that argues for itself may persuade the judge, and nothing here can detect that. A
# judge that is held to the schema (structured output) says one of the words and nothing else; from any other judge, a
# reply that begins with the word and does not take it back also counts.

NO_WORD = (
    "a reply must begin with one of the words for a verdict, as the prompt has them, and not take it back"
)


def asked(what: str, fields: Mapping[str, str], by: str = "ours", reading: str = "strict") -> PromptSpec[str]:
    """Return a prompt that asks for one of the words of `CODES[what]`.

    Section 4.1 of the paper prints the prompt about correctness, but neither its frame nor a prompt that asks whether
    two responses agree; both are this project's ("ours"). The authors' script ("authors") has both prompts: its words
    about correctness differ slightly, and its comparison of two responses omits the question. They are sent as the
    script sends them: texts as they are, no schema. Read officially, a reply with "incorrect" in it is incorrect,
    another with "correct" is correct, and any other unclear; a reply with "same" in it says that two responses agree,
    any other that they do not.

    Args:
        what: "correctness" (fields: question, reference, answer) or "same" (question, control, answer).
        fields: the texts that are filled in.
        by: whose prompt.
        reading: how a reply is read, "strict" or "official".
    """
    template: str = PROMPTS[by][what]
    fields = {name: text for name, text in fields.items() if f"{{{name}}}" in template}
    responses = "\n".join(fields[name] for name in ("control", "answer") if name in fields)
    if by == "ours":
        return _marked(what, template, fields, responses)
    prompt = fill(template, encodable, **fields)
    words = {word: word for word in CODES[what]}
    if reading == "official":
        return PromptSpec(prompt, partial(_read_officially, known=words))
    if _holds_verdict(responses, words):
        return PromptSpec(prompt, lambda reply: None, refusal=lambda reply: guard.HELD)
    return PromptSpec(prompt, partial(read, known=words), refusal=_refusal)


def _marked(what: str, template: str, fields: Mapping[str, str], responses: str) -> PromptSpec[str]:
    """Return this project's prompt, whose words have a mark if the responses contain one of them."""
    words = CODES[what]
    seen = guard.plain(responses)
    mark = ""
    if any(word in seen for word in words):
        mark = f"-{guard.code_for(responses)}"
    template = re.sub(rf"([“\"])({'|'.join(words)})([”\"])", rf"\1\2{mark}\3", template)
    known = {word + mark: word for word in words}
    schema = json_of(verdict={"type": "string", "enum": [*known]})
    return PromptSpec(fill(template, **fields), partial(read, known=known), schema, _refusal)


def _refusal(reply: str) -> Refusal:
    return Refusal(NO_WORD)


# What divides a text into parts that a judge may repeat one of
_BETWEEN = re.compile(r"[\n.!?;:,\"'`{}()*_–—|<>]+")

# Words before a verdict, with which a text says that it is one
_ANNOUNCES = r"(?:verdict|output|generate|judge?ment|assessment|evaluation)\W+(?:(?:is|be|as|says)\W+)?"


def _holds_verdict(text: str, words: Collection[str]) -> bool:
    """Whether a part of a text would be read as a reply: one of the words by itself, or announced as a verdict.

    >>> words = ("same", "different")
    >>> _holds_verdict("**Same.**", words), _holds_verdict("They are the same.", words)
    (True, False)
    """
    seen = guard.plain(text)
    parts = {part.strip().removeprefix("output ") for part in _BETWEEN.split(seen)}
    return (
        not parts.isdisjoint(words) or re.search(rf"\b{_ANNOUNCES}(?:{'|'.join(words)})\b", seen) is not None
    )


def _read_officially(reply: str, known: Mapping[str, str]) -> str:
    *others, last = known
    return next((word for word in reversed(others) if word in reply.lower()), last)


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
        best, columns = ranked([*results, *coin], "aAcc"), self.data["by_category"]
        categories = [
            [
                name,
                category or "overall",
                *(score(result, "/".join((column, category)).strip("/")) for column in columns),
            ]
            for name, result in results
            for category in (*result["counts"], "")
        ]
        groups, names = group_table(results, "aAcc"), self.data["paper_names"]
        return [
            table(best, self.data["columns"], name="table 2"),
            table(best, self.data["analysis"], self.record.is_points, name="table 3"),
            Table("categories", ["responses", "category", *columns], categories, left=2, ranked=True),
            groups._replace(header=[names.get(name, name) for name in groups.header]),
        ]

    def sentence(self, scores: Values) -> str:
        if scores["aAcc"] == 1:
            return "perfect"
        diagnosed = is_defined(scores[FAILURES[1]]) or not is_defined(scores["aAcc"])
        return super().sentence(scores) if diagnosed else "undiagnosed"

    def items(self, rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
        right: dict[Any, list[bool]] = defaultdict(list)
        every = [row["inputs"]["references"] for row in rows]
        for row, asked in zip(rows, every, strict=True):
            for group in (asked["pair"], asked["figure"]):
                right[group].append(row["aAcc"])
        for asked, item in zip(every, super().items(rows, options), strict=True):
            pair = right[asked["pair"]]
            groups = {"control pair": pair, **({"figure": right[item.image]} if item.image else {})}
            shares = [
                Fact(name, [(f"{sum(of)} of {len(of)} right", "good" if all(of) else "bad")])
                for name, of in groups.items()
            ]
            yield item._replace(
                group=asked["pair"],
                facts=[*item.facts, *shares],
                parts={
                    "category": asked["category"],
                    "subcategory": f"{asked['category']}/{asked['subcategory']}",
                    "asked about": self.data["asked_about"][asked["role"]],
                },
                badness=item.badness + pair.count(False) / len(pair),
            )

    def known(self, asked: Values) -> Iterator[Fact]:
        right, details = asked["gt_answer"], asked["gt_answer_details"]
        yield Fact("asked about", [(self.data["asked_about"][asked["role"]], "plain")])
        yield Fact("right answer", [(f"{right}: {details}" if details else right, "plain")])

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        asked = row["inputs"]["references"]
        kind: Kind = "good" if row["aAcc"] else "bad"
        words = self.data["verdicts"][row["correctness"]]
        if row["unread"]:
            words, kind = "unreadable, which counts as uncertain", "open"
        elif row["aAcc"] and row["correctness"] != CORRECT:
            words = "uncertain, which is right without an image"
        yield Fact("verdict", [(words, kind)])
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
