"""How HaloQuest's results and rows are shown."""

from halluscope.benchmarks.haloquest.metric import METRIC
from halluscope.reporting.judged_report import Display, JudgedReport


class HaloQuestReport(JudgedReport):
    metric = METRIC
    columns = (  # of the leaderboard
        "accuracy",
        "accuracy/generated",
        "accuracy/real",
        "accuracy/false_premises",
        "accuracy/visual_challenge",
        "accuracy/insufficient_context",
    )
    groups = "accuracy"
    intervals = {"accuracy": "accuracy"}
    criteria = {"correct": Display("verdict", "wrong", good=1)}
    notes = {"point": "its main point, according to the judge"}
    known = {"answers": "right answers"}
    parts = {"image_type": "image", "type": "type"}
    meaning_defined = "{accuracy} of 100 judged responses agree with an answer that people wrote."
    meaning_undefined = "The accuracy is undefined: no response has a readable verdict."


VIEW = HaloQuestReport()
