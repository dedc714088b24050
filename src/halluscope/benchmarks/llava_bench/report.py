"""How LLaVA-Bench's results and rows are shown."""

from collections.abc import Iterator

from halluscope.benchmarks.llava_bench.metric import METRIC, MODEL_MEAN, ORDER, REFERENCE_MEAN, SCORE
from halluscope.benchmarks.llava_bench.reading import HIGHEST, LOWEST, MODEL, REFERENCE
from halluscope.reporting.judged_report import Display, JudgedReport, with_interval
from halluscope.reporting.tables import Values, is_defined


class LLaVABenchReport(JudgedReport):
    metric = METRIC
    columns = ("mean_words", SCORE, MODEL_MEAN, REFERENCE_MEAN)
    groups = SCORE
    intervals = {SCORE: "score"}
    left_out = "questions"
    criteria = {  # the authors set no threshold: less than full points is an error; GPT-4's rating is none
        MODEL: Display("rating", "less than full points", good=HIGHEST),
        REFERENCE: Display("rating of GPT-4's answer", "", good=LOWEST),
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

    def gaps(self, result: Values) -> Iterator[str]:
        yield from super().gaps(result)
        order = result.get(ORDER)
        if order and is_defined(order["gain"]):
            gain = with_interval({**order, "value": order["gain"]})
            yield (
                f"order: an answer that comes first gains {gain} points; the score is {order['usual']:.1f} with "
                f"GPT-4's answer first, {order['turned']:.1f} with the response first"
            )


VIEW = LLaVABenchReport()
