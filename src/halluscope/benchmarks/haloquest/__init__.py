"""HaloQuest: free-form questions that tempt a model to make something up (Wang et al., ECCV 2024)."""

from halluscope.judging.graders import grading
from halluscope.judging.graders.judged import NOBODY
from halluscope.options import Option
from halluscope.registry import HIGHER, LOWER, Benchmark, Dataset, Judges

_PARTS = ("generated", "real", "false_premises", "visual_challenge", "insufficient_context")
_ACCURACIES = ("accuracy", *(f"accuracy/{part}" for part in _PARTS))

BENCHMARK = Benchmark(
    name="haloquest",
    title="HaloQuest",
    about="free-form questions with a false premise, too little context, or details that are hard to see",
    description="""
HaloQuest asks free-form questions about generated and real images. Half of the questions are about something that is
not there, some cannot be answered from the image, and the others are about things that are hard to see. A judge decides
whether a response agrees with one of the answers that people wrote; if so, it is right.
""",
    principal="accuracy",
    scores={**dict.fromkeys(_ACCURACIES, HIGHER), "unreadable": LOWER},
    others={"questions": None, "images": None},
    citation="""
@inproceedings{wang2024haloquest,
  title={{HaloQuest}: A Visual Hallucination Dataset for Advancing Multimodal Reasoning},
  author={Wang, Zhecan and Bingham, Garrett and Yu, Adams Wei and Le, Quoc V. and Luong, Thang and Ghiasi, Golnaz},
  booktitle={European Conference on Computer Vision (ECCV)},
  year={2024}
}
""",
    links=("https://arxiv.org/abs/2407.15680", "https://github.com/google/haloquest"),
    licence="Questions and answers: CC BY 4.0. Each image has its own licence; no image is published from here.",
    datasets=(
        Dataset(
            "haloquest",
            id=("id",),
            columns=("file_name", "image_type", "type", "question", "answers"),
            own=("image_type", "answers"),
            image_key="file_name",
        ),
    ),
    target="answers",
    judges=Judges("verdicts", default="", rules=(NOBODY,)),
    options=(
        *grading.offered(f"you must name one; {NOBODY} (no verdicts yet)"),
        Option(
            "prompts",
            "whose wording of the prompt to use (default: ours)",
            choices=("ours", "authors"),
        ),
        grading.given("judgements", "id and correct", "judges"),
    ),
    given=("judgements",),
    items="per_question",
    means=("accuracy", "unreadable"),
)
