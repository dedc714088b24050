"""CHAIR: object hallucination in image captions, word by word (Rohrbach et al., EMNLP 2018)."""

from halluscope.options import Option
from halluscope.registry import HIGHER, LOWER, Benchmark

BENCHMARK = Benchmark(
    name="chair",
    title="CHAIR",
    about="object hallucination in captions, word by word",
    description="""
CHAIR measures object hallucination in image captions: words are looked up in a synonym list of COCO's 80 classes, and
a mention of a class that is not in the image is hallucinated. CHAIR_i is the share of such mentions, CHAIR_s the share
of captions with at least one.
""",
    principal="chair_i",
    scores={"chair_i": LOWER, "chair_s": LOWER, "recall": HIGHER},
    extra_numbers={"mean_words": None, "images": None, "unfinished": None},
    citation="""
@inproceedings{rohrbach2018object,
  title={Object Hallucination in Image Captioning},
  author={Rohrbach, Anna and Hendricks, Lisa Anne and Burns, Kaylee and Darrell, Trevor and Saenko, Kate},
  booktitle={Proceedings of the Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  pages={4035--4045},
  year={2018}
}
""",
    links=("https://arxiv.org/abs/1809.02156",),
    licence="CHAIR's synonym list: BSD-2-Clause; it is fetched from its authors, not included.",
    reads=("throne_coco",),
    prompt="Describe this image in detail.",
    max_new_tokens=512,
    target="objects",
    partial_ok=True,
    options=(
        Option("captions", "COCO's captions_*.json, if --dataset is COCO's instances_*.json", metavar="FILE"),
        Option("synonyms", "the official synonym list (default: fetched once, and checked)", metavar="FILE"),
        Option("allow_other_synonyms", "accept a list with another checksum", flag=True),
        Option(
            "drop_unfinished",
            "leave out the last sentence of responses that end in the middle of it, at a limit of tokens",
            flag=True,
        ),
        Option(
            "reader", "what reads words: lemminflect (default), or nltk, as in CHAIR's script", metavar="NAME"
        ),
    ),
    input_options=("image_ids", "forms"),
    items="per_image",
    means=("chair_s",),
    extras=("words",),
)
