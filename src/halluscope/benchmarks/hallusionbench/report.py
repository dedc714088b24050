"""How HallusionBench's results and rows are shown: tables like Tables 2 and 3, and control pairs."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.benchmarks.hallusionbench.diagnosis import CORRECT, FAILURES
from halluscope.benchmarks.hallusionbench.layout import OFFICIAL
from halluscope.benchmarks.hallusionbench.metric import METRIC, chance
from halluscope.judged import name_of
from halluscope.reporting.judged_report import JudgedReport
from halluscope.reporting.report_items import UNREADABLE, Fact, Item, Kind, ToMark
from halluscope.reporting.tables import (
    Named,
    Table,
    Values,
    filled,
    group_table,
    is_defined,
    percent,
    ranked,
    score,
    table,
)

COIN = "random chance, expected"  # the row of a model that tosses a coin

# The columns of Table 3
ANALYSIS = (
    "mean_words",
    "pct_diff",
    "fp_ratio",
    "correct",
    "inconsistent",
    "wrong",
    "language_hallucination",
    "visual_illusion",
    "mixed",
)

# The scores that the authors' script also computes per category
BY_CATEGORY = ("qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "aAcc", "figure_score")

# What Figure 2 calls two subcategories
PAPER_NAMES = {"aAcc/VD/ocr": "aAcc/VD/ocr (Poster)", "aAcc/VD/figure": "aAcc/VD/figure (Others)"}

VERDICTS = ("incorrect", "correct", "uncertain")  # by their codes

# What a question is asked about, by its role
ASKED_ABOUT = {"no_visual": "no image", "original": "the original image", "edited": "an edited image"}

# The leaves of the decision tree (Figure 3): the failure, and where it occurs -> what is said of it.
NO_IMAGE = "no image"
ANYWHERE = "anywhere"
LEAVES = {
    "language_hallucination": {
        NO_IMAGE: "wrong without an image: it follows what it believes it knows",
        "VS": "wrong, and the same as its response without an image: it follows what it believes it knows",
        "VD": "wrong, and the same as its response about the original: it follows what it believes it knows",
    },
    "visual_illusion": {
        ANYWHERE: "fails at the image: it misreads the image, or draws no answer from it",
    },
    "mixed": {
        "VD": "wrong, and the same as its response about the original: it misses the edit, or it follows what it "
        "believes it knows",
        "VS": "wrong without an image, and fails in another way with one",
    },
}


class HallusionBenchReport(JudgedReport):
    metric = METRIC
    columns = ("qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "aAcc", "overall")  # of Table 2, and VLMEvalKit's
    intervals = {"aAcc": "aAcc", "qAcc": "qAcc", "fAcc": "fAcc"}
    left_out = "sets"
    criteria = {}
    meaning_defined = (
        "{aAcc} of 100 responses are right (an uncertain one is right where no image is shown); of 100 others, "
        "{language_hallucination} ignore the image (language hallucination), {visual_illusion} misread it (visual "
        "illusion), and {mixed} are a mix."
    )
    meaning_perfect = "{aAcc} of 100 responses are right."
    meaning_undiagnosed = (
        "{aAcc} of 100 responses are right; why the others fail is undefined without the questions that have no "
        "image."
    )
    meaning_undefined = "The accuracy is undefined: there are no responses."

    # Results

    def tables(
        self,
        results: Named,
        rows: Sequence[Any] = (),
        protocol: str = OFFICIAL,
        details: bool = True,
        **options: Any,
    ) -> list[Table]:
        with_coin = list(results)
        if rows:
            with_coin.append((COIN, chance(rows, protocol)))
        best = ranked(with_coin, "aAcc")
        groups = group_table(results, "aAcc")
        header = [PAPER_NAMES.get(name, name) for name in groups.header]
        tables = [
            table(best, self.columns, name="table 2"),
            table(best, ANALYSIS, self.metric.is_points, name="table 3"),
        ]
        if details:
            tables.append(self.categories(results))
        tables.append(groups._replace(header=header))
        return tables

    def categories(self, results: Named) -> Table:
        """Return the table of the scores in each category."""
        lines = []
        for name, result in results:
            categories = list(result["counts"])
            categories.append("")
            for category in categories:
                line = [name, category or "overall"]
                for column in BY_CATEGORY:
                    line.append(score(result, name_of(column, category)))
                lines.append(line)
        header = ["responses", "category"]
        header += BY_CATEGORY
        return Table("categories", header, lines, left=2, ranked=True)

    def sizes(self, result: Values) -> Iterator[str]:
        yield f"{result['questions']:,} questions, {result['pairs']:,} pairs, {result['figures']:,} figures"

    def gaps(self, result: Values) -> Iterator[str]:
        if result.get("unread"):
            yield f"unreadable: {percent(result['unread'])} % (counted as uncertain)"
        if result.get("uncertain"):
            yield f"uncertain: {percent(result['uncertain'])} % (counted as right where there is no image)"

    def meaning(self, scores: Values) -> str:
        return filled(self.sentence(scores), scores)

    def sentence(self, scores: Values) -> str:
        """Return the sentence that says what scores mean."""
        if not is_defined(scores["aAcc"]):
            return self.meaning_undefined
        if scores["aAcc"] == 1:
            return self.meaning_perfect
        if not is_defined(scores[FAILURES[1]]):
            return self.meaning_undiagnosed
        return self.meaning_defined

    # Rows

    def items(self, rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
        """Yield a run's rows as items, one per row, in order."""
        references = [row["inputs"]["references"] for row in rows]
        right: dict[Any, list[bool]] = defaultdict(list)  # by control pair, and by figure
        for row, reference in zip(rows, references, strict=True):
            right[reference["pair"]].append(row["aAcc"])
            right[reference["figure"]].append(row["aAcc"])
        for reference, item in zip(references, super().items(rows, options), strict=True):
            in_pair = right[reference["pair"]]
            facts = list(item.facts)
            facts.append(share_right("control pair", in_pair))
            if item.image:
                facts.append(share_right("figure", right[item.image]))
            yield item._replace(
                group=reference["pair"],
                facts=facts,
                parts={
                    "category": reference["category"],
                    "subcategory": f"{reference['category']}/{reference['subcategory']}",
                    "asked about": ASKED_ABOUT[reference["role"]],
                },
                badness=item.badness + in_pair.count(False) / len(in_pair),
            )

    def facts(self, reference: Values) -> Iterator[Fact]:
        answer = reference["gt_answer"]
        if reference["gt_answer_details"]:
            answer = f"{answer}: {reference['gt_answer_details']}"
        yield Fact("asked about", [(ASKED_ABOUT[reference["role"]], "plain")])
        yield Fact("right answer", [(answer, "plain")])

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        yield verdict_of(row)
        if row["failure"]:
            leaf = leaf_of(row["failure"], row["inputs"]["references"])
            yield Fact("failure", [(f"{in_words(row['failure'])}: {leaf}", "bad")])

    def errors(self, row: Values) -> list[str]:
        errors = []
        if not row["aAcc"]:
            errors.append(in_words(row["failure"] or VERDICTS[row["correctness"]]))
        if row["unread"]:
            errors.append(UNREADABLE)
        return errors

    def badness(self, row: Values) -> float:
        return float(not row["aAcc"])

    def asks(self, row: Values) -> ToMark:
        with_right = dict(row)
        with_right["right"] = row["aAcc"]
        return super().asks(with_right)


def share_right(name: str, right: Sequence[bool]) -> Fact:
    """Return how many of the responses that belong together are right."""
    kind: Kind = "good" if all(right) else "bad"
    return Fact(name, [(f"{sum(right)} of {len(right)} right", kind)])


def verdict_of(row: Values) -> Fact:
    """Return the verdict on a row's response."""
    words = VERDICTS[row["correctness"]]
    kind: Kind = "good" if row["aAcc"] else "bad"
    if row["unread"]:
        words = "unreadable, which counts as uncertain"
        kind = "open"
    elif row["aAcc"] and row["correctness"] != CORRECT:
        words = "uncertain, which is right without an image"
    return Fact("verdict", [(words, kind)])


def leaf_of(failure: str, reference: Values) -> str:
    """Return what is said of a failure."""
    leaves = LEAVES[failure]
    place = NO_IMAGE
    if reference["figure"]:
        place = reference["category"]
    if place in leaves:
        return leaves[place]
    return leaves[ANYWHERE]


def in_words(name: str) -> str:
    return name.replace("_", " ")


VIEW = HallusionBenchReport()
