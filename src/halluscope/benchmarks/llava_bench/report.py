"""How LLaVA-Bench's results and rows are shown."""

from collections.abc import Iterator

from halluscope.benchmarks.llava_bench.metric import METRIC, MODEL_MEAN, REFERENCE_MEAN, SCORE
from halluscope.benchmarks.llava_bench.reading import HIGHEST, LOWEST, MODEL, REFERENCE
from halluscope.reporting.judged_report import JudgedReport, Shown
from halluscope.reporting.tables import Values


class LLaVABenchReport(JudgedReport):
    metric = METRIC
    columns = ("mean_words", SCORE, MODEL_MEAN, REFERENCE_MEAN)
    groups = SCORE
    intervals = {SCORE: "score"}
    left_out = "questions"
    criteria = {  # the authors set no threshold: less than full points is an error; GPT-4's rating is none
        MODEL: Shown("rating", "less than full points", good=HIGHEST),
        REFERENCE: Shown("rating of GPT-4's answer", "", good=LOWEST),
    }
    notes = {"reason": "the judge's reasons"}
    known = {"context": "what the image shows", "answer": "GPT-4's answer"}
    parts = {"category": "category"}
    meaning_defined = (
        "The responses get {score:.1f} % of the points that GPT-4's answers get: {model_mean:.2f} and "
        "{reference_mean:.2f} of 10 on average."
    )
    meaning_undefined = "The score is undefined: no response has readable ratings."

    def sizes(self, result: Values) -> Iterator[str]:
        yield (
            f"{result['questions']:,} questions about {result['images']:,} images, "
            f"{result['counts']['all']['rated']:,} pairs of ratings; scores are in percent, ratings from 1 to 10"
        )


VIEW = LLaVABenchReport()
