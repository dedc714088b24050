"""GAVIE: do responses follow instructions, and are they true of the image (Liu et al., ICLR 2024)?"""

from halluscope.judging.graders import grading
from halluscope.judging.graders.judged import NOBODY
from halluscope.options import Option
from halluscope.registry import HIGHER, LOWER, Benchmark, Dataset, Judges

MAX_TOKENS = 1024
"""How long a reply may be: a judge gives reasons."""

BENCHMARK = Benchmark(
    name="gavie",
    title="GAVIE",
    about="1,000 instructions: relevancy and accuracy, rated from 0 to 10",
    description="""
GAVIE (GPT4-Assisted Visual Instruction Evaluation) gives 1,000 instructions about 120 images of Visual Genome. Some
instructions assume something that is not in the image. A language model reads Visual Genome's descriptions of the
image's regions, and rates each response from 0 to 10 for relevancy (does it do what the instruction asks?) and for
accuracy (is it true of the image?).
""",
    principal="accuracy",
    scores={"accuracy": HIGHER, "relevancy": HIGHER, "unreadable": LOWER},
    others={"rated": None, "questions": None, "images": None},
    citation="""
@inproceedings{liu2024mitigating,
  title={Mitigating Hallucination in Large Multi-Modal Models via Robust Instruction Tuning},
  author={Liu, Fuxiao and Lin, Kevin and Li, Linjie and Wang, Jianfeng and Yacoob, Yaser and Wang, Lijuan},
  booktitle={International Conference on Learning Representations (ICLR)},
  year={2024}
}
""",
    links=("https://arxiv.org/abs/2306.14565", "https://github.com/FuxiaoLiu/LRV-Instruction"),
    licence="Instructions and the authors' prompt: BSD-3-Clause. Regions and images: Visual Genome, CC BY 4.0; the "
    "photographs belong to their Flickr owners.",
    datasets=(Dataset("gavie", id=("id",), columns=("image_id", "question", "regions"), own=("regions",)),),
    target="regions",
    judges=Judges("verdicts", default="", rules=(NOBODY,)),
    options=(
        *grading.offered(
            f"you must name one; {NOBODY} (no ratings yet)",
            max_tokens=MAX_TOKENS,
        ),
        Option(
            "prompts",
            "whose wording of the prompt to use (default: ours)",
            choices=("ours", "authors"),
        ),
        grading.given("ratings", "id, relevancy and accuracy", "rates"),
    ),
    given=("ratings",),
    items="per_question",
    means=("accuracy", "relevancy", "unreadable"),
    points=("relevancy", "accuracy"),
)
