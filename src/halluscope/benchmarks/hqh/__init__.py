"""HQH: wrong main answers and extra claims in free-form responses (Yan et al., Measuring the Measurers)."""

from halluscope.judging.graders import grading
from halluscope.registry import LOWER, Benchmark, Dataset, Judges

BENCHMARK = Benchmark(
    name="hqh",
    title="HQH",
    about="free-form questions: wrong main answers and false extra claims",
    description="""
HQH asks free-form questions about images. Each response is judged in two steps: is its main answer right, and how many
extra claims contradict the image? Both become rates, over all questions, by type (existence, count, color, action,
relation, comparison, environment, OCR) and by level (object, attribute, scene).
""",
    principal="overall_hal",
    scores=dict.fromkeys(
        (
            *("main_hal", "main_hal/object", "main_hal/attribute", "main_hal/scene"),
            *("extra_hal", "overall_hal", "unjudged"),
        ),
        LOWER,
    ),
    others={"questions": None, "images": None},
    citation="""
@article{yan2024measuring,
  title={Measuring the Measurers: Quality Evaluation of Hallucination Benchmarks for Large Vision-Language Models},
  author={Yan, Bei and Zhang, Jie and Yuan, Zheng and Shan, Shiguang and Chen, Xilin},
  year={2024}
}
""",
    links=("https://github.com/HQHBench/HQHBench",),
    licence="The questions' repository states no licence: build the dataset where you use it, and ask the "
    "authors before you pass it on.",
    datasets=(
        Dataset(
            "hqh",
            id=("id",),
            columns=("image_id", "question", "answer", "type", "level"),
            own=("answer", "level"),
        ),
    ),
    judges=Judges("verdicts", default="reference-only", rules=("reference-only",)),
    options=(
        *grading.offered(
            "reference-only (default: checks for the right answer, but cannot see extra claims)",
            max_tokens=512,
        ),
        grading.given("judgements", "id, correct and extra_claims", "judges"),
    ),
    given=("judgements",),
    items="per_question",
    means=("main_hal", "extra_hal", "overall_hal", "unjudged"),
    points=("extra_hal",),
)
