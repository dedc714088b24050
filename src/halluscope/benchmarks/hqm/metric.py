"""HQM as a metric: the indicators of reliability and validity."""

from halluscope.benchmark import Benchmark, Score
from halluscope.stats.indicators import compute

__all__ = ["METRIC", "Hqm", "compute"]


class Hqm(Benchmark):
    name = "hqm"
    title = "HQM"
    description = """\
HQM measures how far a hallucination benchmark can be believed, from its scores of several models: whether a second run
(test-retest) or a parallel form gives the same scores, whether its scores agree with people's (criterion validity), and
what share of its questions and answers people find right (content validity).
"""
    citation = """\
@misc{yan_measuring,
  title={Measuring the Measurers: Quality Evaluation of Hallucination Benchmarks for Large Vision-Language Models},
  author={Yan, Bei and Zhang, Jie and Yuan, Zheng and Shan, Shiguang and Chen, Xilin},
  url={https://github.com/HQHBench/HQHBench}
}
"""
    links = ("https://github.com/HQHBench/HQHBench",)
    licence = "The paper's tables are facts."
    extras = ("stats",)

    principal = "pearson"
    scores = {"pearson": Score("higher"), "spearman": Score("higher"), "kendall": Score("higher")}
    extra_numbers = {
        "content": Score("higher"),
        "low": Score(),
        "high": Score(),
        "chance": Score(),
        "models": Score(),
        "valid": Score(),
        "rows": Score(),
    }


METRIC = Hqm()
