"""MMHal-Bench: are free-form responses informative and free of hallucination? (Sun et al., 2023)."""

from halluscope.judging.graders import grading
from halluscope.judging.graders.judged import NOBODY
from halluscope.options import Option
from halluscope.registry import HIGHER, LOWER, Benchmark, Dataset, Judges

MAX_TOKENS = 1024
"""How long a reply may be: a judge explains before it rates."""

BENCHMARK = Benchmark(
    name="mmhal",
    title="MMHal-Bench",
    about="free-form questions of eight types, rated from 0 to 6",
    description="""
MMHal-Bench asks 96 free-form questions of eight types about images of OpenImages. A language model reads a person's
answer and the objects in the image, and rates each response: 6 is very informative with good reasoning and no
hallucination, 3 is uninformative without hallucination, and 0 is uninformative with hallucination. The scores are the
mean rating and the share of ratings below 3, which mean hallucination, over all questions and by type.
""",
    principal="rating",
    scores={"rating": HIGHER, "hallucination_rate": LOWER, "unreadable": LOWER},
    others={"questions": None, "images": None},
    citation="""
@article{sun2023aligning,
  title={Aligning Large Multimodal Models with Factually Augmented {RLHF}},
  author={Sun, Zhiqing and Shen, Sheng and Cao, Shengcao and Liu, Haotian and Li, Chunyuan and Shen, Yikang
          and Gan, Chuang and Gui, Liang-Yan and Wang, Yu-Xiong and Yang, Yiming and Keutzer, Kurt and Darrell, Trevor},
  journal={arXiv preprint arXiv:2309.14525},
  year={2023}
}
""",
    links=("https://arxiv.org/abs/2309.14525", "https://huggingface.co/datasets/Shengcao1006/MMHal-Bench"),
    licence="Questions, answers and the authors' prompt: Apache-2.0, according to the card of their dataset. The "
    "photographs belong to their owners on Flickr, each under its own licence.",
    datasets=(
        Dataset(
            "mmhal",
            id=("id",),
            columns=("image_id", "question", "answer", "type", "topic", "contents"),
            own=("answer", "contents"),
        ),
    ),
    max_new_tokens=1024,
    judges=Judges("verdicts", default="", rules=(NOBODY,)),
    options=(
        *grading.offered(
            f"you must name one; {NOBODY} (no ratings yet)",
            max_tokens=MAX_TOKENS,
        ),
        Option(
            "prompts",
            "whose wording of the prompt to use (default: ours, or authors with --reading official)",
            choices=("ours", "authors"),
        ),
        Option(
            "reading",
            "how a reply is read: strict (default), or as the authors' script does, where an unreadable reply is 0",
            choices=("strict", "official"),
        ),
        grading.given("ratings", "id and rating", "rates"),
    ),
    given=("ratings",),
    items="per_question",
    means=("rating", "hallucination_rate", "unreadable"),
    points=("rating",),
)
