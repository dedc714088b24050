"""THRONE: object hallucination in free-form image descriptions (Kaul et al., CVPR 2024)."""

from halluscope.judging import options as judging
from halluscope.options import Option
from halluscope.registry import HIGHER, LOWER, Benchmark, Dataset, Judges

_RATIOS = ("precision", "recall", "f1", "f0.5")

BENCHMARK = Benchmark(
    name="throne",
    title="THRONE",
    about="object hallucination in free-form descriptions",
    description="""
THRONE measures object hallucination in the free-form image descriptions of large vision-language models: an ensemble
of language models reads each description and votes, class by class, on whether it implies the object; the votes on
which they agree are compared with the objects annotated in the image.
""",
    principal="f0.5_cls",
    scores={
        **{f"{ratio}_{over}": HIGHER for over in ("cls", "all") for ratio in _RATIOS},
        "unparsed": LOWER,
    },
    extra_numbers={
        "f*_cls": HIGHER,
        "f*_all": HIGHER,
        "ignored": None,
        "undefined_classes": None,
        "images": None,
        "median_characters": None,
    },
    citation="""
@inproceedings{kaul2024throne,
  title={{THRONE}: An Object-based Hallucination Benchmark
         for the Free-form Generations of Large Vision-Language Models},
  author={Kaul, Prannay and Li, Zhizhong and Yang, Hao and Dukler, Yonatan
          and Swaminathan, Ashwin and Taylor, C. J. and Soatto, Stefano},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  pages={27228--27238},
  year={2024}
}
""",
    links=("https://arxiv.org/abs/2405.05256",),
    licence="COCO's annotations: CC BY 4.0. Images: the terms of their owners. The paper's list of Objects365 images "
    "and its released code: CC BY-NC 4.0; this code was written from scratch.",
    compared="With class_f=mean and all_average=image the metric gives the released code's scores for "
    "the same votes: "
    "tests/benchmarks/test_throne.py, tests/golden/throne_released.json.",
    datasets=(
        Dataset(
            "throne_coco",
            id=("image_id",),
            columns=("objects",),
            options={"vocabulary": "coco"},
        ),
        Dataset(
            "throne_objects365",
            id=("image_id",),
            columns=("objects",),
            builder="build:OBJECTS365",
            options={"vocabulary": "objects365"},
        ),
    ),
    prompt="Describe this image in detail.",
    max_new_tokens=1024,  # as in the released code
    target="objects",
    partial_ok=True,
    judges=Judges("votes", default="flan-t5", rules=("lexical",)),
    options=(
        *judging.VOTES,
        Option(
            "vocabulary",
            "the vocabulary of the classes that judges are asked about (default: coco, or objects365 if the "
            "benchmark is named throne_objects365)",
            choices=("coco", "objects365"),
        ),
        Option("beta", "the weight of recall against precision in F (default: 0.5)", float),
        Option(
            "class_f",
            "F of the class averages (of_means, default), or the average of each class's F (mean)",
            choices=("of_means", "mean"),
        ),
        Option(
            "all_average",
            "count over all cells (pooled, default), or average over images (image)",
            choices=("pooled", "image"),
        ),
        Option(
            "cells",
            "score a second time, on only the cells that these POPE questions ask about",
            many=True,
            metavar="DATASET",
        ),
        Option(
            "certificate",
            "a file that `halluscope certify` wrote, one per file of --responses; adds corrected scores",
            many=True,
            metavar="FILE",
            each=True,
        ),
        Option("per_class", "also print a table of the classes", flag=True),
        Option(
            "explain",
            "also say which mentions the lexical judge found but did not count, and by which rule",
            flag=True,
        ),
    ),
    input_options=("votes", "cells", "cells_of", "image_ids", "forms"),
    items="per_image",
)
