"""HQM: how far a hallucination benchmark can be believed (Yan et al., Measuring the Measurers, section III)."""

from halluscope.registry import HIGHER, Benchmark

BENCHMARK = Benchmark(
    name="hqm",
    title="HQM",
    about="how far a benchmark can be believed, from the scores of several models",
    description="""
HQM measures how far a hallucination benchmark can be believed, from its scores of several models: whether a second run
(test-retest) or a parallel form gives the same scores, whether its scores agree with people's (criterion validity), and
what share of its questions and answers people find right (content validity).
""",
    principal="pearson",
    scores={
        "pearson": HIGHER,
        "spearman": HIGHER,
        "kendall": HIGHER,
    },
    extra_numbers={"content": HIGHER, **dict.fromkeys(("low", "high", "chance", "models", "valid", "rows"))},
    citation="""
@misc{yan_measuring,
  title={Measuring the Measurers: Quality Evaluation of Hallucination Benchmarks for Large Vision-Language Models},
  author={Yan, Bei and Zhang, Jie and Yuan, Zheng and Shan, Shiguang and Chen, Xilin},
  url={https://github.com/HQHBench/HQHBench}
}
""",
    links=("https://github.com/HQHBench/HQHBench",),
    licence="The paper's tables are facts.",
    extras=("stats",),
)
