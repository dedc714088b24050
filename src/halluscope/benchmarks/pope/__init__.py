"""POPE: yes/no questions about single objects (Li et al., EMNLP 2023), complete (THRONE, section 5.4) or sampled."""

from halluscope.options import Option
from halluscope.registry import HIGHER, LOWER, QUESTION, Benchmark, Dataset

_RATIOS = ("precision", "recall", "f1", "f0.5")
_ASKED = ("image_id", "object", "question", "answer")

BENCHMARK = Benchmark(
    name="pope",
    title="POPE",
    about="yes/no questions about objects, sampled or complete",
    description="""
POPE measures object hallucination in the responses of large vision-language models to questions such as "Is there a dog
in the image?". A named rule reads each response as yes, no or neither; yes is the positive class.
""",
    principal="accuracy",
    scores={
        "accuracy": HIGHER,
        **dict.fromkeys((*_RATIOS, *(f"{ratio}_cls" for ratio in _RATIOS)), HIGHER),
        "yes_ratio": None,
        "unparsed": LOWER,
    },
    extra_numbers={"f1_mean": HIGHER, "undefined_classes": None, "rows": None},
    citation="""
@inproceedings{li2023pope,
  title={Evaluating Object Hallucination in Large Vision-Language Models},
  author={Li, Yifan and Du, Yifan and Zhou, Kun and Wang, Jinpeng and Zhao, Wayne Xin and Wen, Ji-Rong},
  booktitle={Proceedings of the 2023 Conference on Empirical Methods in Natural Language Processing},
  pages={292--305},
  year={2023}
}
""",
    links=("https://arxiv.org/abs/2305.10355",),
    licence="POPE's questions: MIT. RePOPE's answers: their repository states no licence, so build them where you use "
    "them. Images (only in pope_c and pope_c_objects365, if built with them): each under the terms of its owner.",
    compared="The metric gives the scores of the authors' script for the same responses: "
    "tests/benchmarks/test_pope.py, tests/golden/pope_official.json.",
    datasets=(
        Dataset(
            "pope",
            id=("question_id",),
            also={"sampling": ("random", "popular", "adversarial")},
            columns=_ASKED,
            config="coco",
            builder="build:QUESTIONS",
            harness_task={"lmms_eval": "halluscope_pope"},
        ),
        Dataset(
            "repope",
            id=("question_id",),
            also={"sampling": ("random", "popular", "adversarial")},
            columns=(*_ASKED, "labels"),
            own=("question_id", *_ASKED),
            builder="build:CORRECTED",
        ),
        Dataset(
            "pope_c",
            id=("question_id",),
            columns=_ASKED,
            config="questions",
            images="images",
            builder="complete:COMPLETE",
        ),
        Dataset(
            "pope_c_objects365",
            id=("question_id",),
            columns=_ASKED,
            config="questions",
            images="images",
            builder="complete:COMPLETE_OBJECTS365",
        ),
    ),
    prompts={"short": f"{QUESTION}\nAnswer the question using a single word or phrase."},
    max_new_tokens=64,
    options=(
        Option(
            "parser",
            "how a response is read (default: pope, the official rule); all shows a row per parser",
            choices=("pope", "strict", "lmms-eval", "vlmevalkit", "repope", "first-word", "vcd"),
            every=True,
            apart=("vcd",),
        ),
        Option(
            "convention",
            "how unreadable responses are counted (default: as in the project whose parser is used)",
            choices=("usual", "lmms-eval", "repope"),
        ),
        Option(
            "sampling",
            "score only the questions of this sampling",
            choices=("random", "popular", "adversarial"),
        ),
        Option(
            "corrected",
            "also score by these corrected right answers: RePOPE's dataset or files",
            many=True,
            metavar="DATASET",
        ),
        Option("per_class", "also print a table of the classes", flag=True),
    ),
    input_options=("objects", "sampling", "image_ids", "questions", "forms", "corrected"),
    items="per_question",
    means=("accuracy", "yes_ratio", "unparsed"),
)
