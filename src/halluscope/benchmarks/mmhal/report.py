"""How MMHal-Bench's results and rows are shown."""

from collections.abc import Iterator

from halluscope.benchmarks.mmhal.metric import FIRST_WITHOUT_HALLUCINATION, METRIC
from halluscope.reporting.judged_report import Display, JudgedReport
from halluscope.reporting.tables import Values, percent
from halluscope.signature import keys_of


class MMHalReport(JudgedReport):
    metric = METRIC
    columns = ("mean_words", "rating", "hallucination_rate")
    groups = "rating"
    intervals = {"rating": "rating", "hallucination_rate": "hallucination rate"}
    criteria = {"rating": Display("rating", "hallucination", good=FIRST_WITHOUT_HALLUCINATION)}
    notes = {"analysis": "the judge's reasons"}
    known = {"answer": "a person's answer", "contents": "objects in the image"}
    parts = {"type": "type"}
    meaning_defined = (
        "The mean rating is {rating:.2f} of 6; {hallucination_rate} of 100 responses are rated below 3, which means "
        "that they hallucinate."
    )
    meaning_undefined = "The rating is undefined: no response has a readable rating."

    def sizes(self, result: Values) -> Iterator[str]:
        yield (
            f"{result['questions']:,} questions about {result['images']:,} images, "
            f"{result['counts']['all']['rated']:,} ratings; ratings are from 0 to 6, the rate in percent"
        )

    def gaps(self, result: Values) -> Iterator[str]:
        unread = result["unreadable"]
        if not unread:
            return
        counts = " (they count in no score)"
        if "authors-official" in result["signature"]:
            counts = self.official_gaps(result)
        yield f"no readable rating: {percent(unread)} % of the responses{counts}"

    def official_gaps(self, result: Values) -> str:
        """Say what the authors' script makes of replies that it cannot read, and of those that are missing."""
        repeats = int(keys_of(result["signature"])["repeats"])
        asked = result["questions"] * repeats
        without_reply = 1 - result["counts"]["all"]["rated"] / asked
        if not without_reply:
            return ", which count as 0, as in the authors' script"
        with_reply = result["unreadable"] - without_reply
        return (
            f"; {percent(with_reply)} % have a reply and count as 0, as in the authors' script; "
            f"{percent(without_reply)} % have none and count in no score"
        )


VIEW = MMHalReport()
