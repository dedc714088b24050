"""How GAVIE's results and rows are shown."""

from collections.abc import Iterator

from halluscope.benchmarks.gavie.metric import METRIC
from halluscope.benchmarks.gavie.reading import MOST
from halluscope.reporting.judged_report import Display, JudgedReport
from halluscope.reporting.report_items import Fact, several
from halluscope.reporting.tables import Values


class GAVIEReport(JudgedReport):
    metric = METRIC
    columns = ("mean_words", "relevancy", "accuracy")
    intervals = {"relevancy": "relevancy", "accuracy": "accuracy"}
    criteria = {  # the authors set no threshold: less than full points is an error
        "accuracy": Display("accuracy", "not fully accurate", good=MOST),
        "relevancy": Display("relevancy", "not fully relevant", good=MOST),
    }
    notes = {"reason": "the judge's reasons"}
    unrated = "not rated in both ways"
    meaning_defined = (
        "On average, responses are rated {accuracy:.2f} of 10 for being true of the image, and {relevancy:.2f} for "
        "doing what the instruction asks."
    )
    meaning_undefined = "The accuracy is undefined: no response has a readable rating."

    def sizes(self, result: Values) -> Iterator[str]:
        yield (
            f"{result['questions']:,} instructions about {result['images']:,} images, {result['rated']:,} rated; "
            "scores are from 0 to 10"
        )

    def facts(self, asked: Values) -> Iterator[Fact]:
        phrases = []
        for region in asked["regions"] or ():
            phrases.append(region["phrase"])
        if phrases:
            yield several("regions", phrases)


VIEW = GAVIEReport()
