"""OpenCHAIR: hallucinated nouns in captions, without a closed list of objects (Ben-Kish et al., EMNLP 2024)."""

from dataclasses import replace

from halluscope.judging.voters import poll
from halluscope.options import Option
from halluscope.registry import LOWER, Benchmark, Dataset, Judges

_OTHERWISE = {
    "questions": "what they are asked: released (default), plain (for judges that say yes or no alone), claims (for "
    "checkers), or templates with {a/an} {x}",
    "ask": "changes nothing here: each vote is needed, and asked for",
}
"""What options of judges say here."""

BENCHMARK = Benchmark(
    name="openchair",
    title="OpenCHAIR",
    about="hallucinated nouns in captions, of any kind",
    description="""
OpenCHAIR measures hallucination in captions without a closed list of objects: the concrete nouns of a caption are
found, and a language model that reads the caption from which the image was made says of each whether the image has it.
""",
    principal="openchair",
    scores={"openchair": LOWER, "undecided": LOWER, "unreadable": LOWER},
    others={
        "nouns": None,
        "found": None,
        "hallucinated": None,
        "nouns_per_caption": None,
        "without_nouns": None,
        "images": None,
    },
    citation="""
@inproceedings{benkish2024mitigating,
  title={Mitigating Open-Vocabulary Caption Hallucinations},
  author={Ben-Kish, Assaf and Yanuka, Moran and Alper, Morris and Giryes, Raja and Averbuch-Elor, Hadar},
  booktitle={Proceedings of the 2024 Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  year={2024}
}
""",
    links=("https://arxiv.org/abs/2312.03631", "https://github.com/assafbk/mocha_code"),
    licence="The dataset's card states the MIT licence; its images are synthetic. The ratings of concreteness come "
    "without a stated licence: they are the user's file. This code was written anew.",
    datasets=(Dataset("openchair", id=("image_id",), columns=("true_caption",)),),
    prompt="Describe this image in one sentence.",
    max_new_tokens=128,
    target="true_caption",
    judges=Judges("votes", default="flan-t5", rules=("lexical",)),
    options=(
        *(replace(one, help=_OTHERWISE[one.name]) if one.name in _OTHERWISE else one for one in poll.OPTIONS),
        Option(
            "convention",
            "each noun as often as it comes, undecided ones left out (released, default), or once per caption, "
            "undecided ones as hallucinated (first)",
            choices=("released", "first"),
        ),
        Option(
            "reader",
            "who finds nouns: lemminflect, a dictionary with a few rules (default), spacy, a tagger, as the authors' "
            "script does (extra spacy), or nltk, another (extra nltk)",
        ),
        Option(
            "concreteness",
            "the ratings of Brysbaert et al. (2014): only nouns rated above 4.5 count (default: all do)",
            metavar="FILE",
        ),
    ),
    given=("nouns", "votes", "image_ids", "forms"),
    items="per_image",
    extras=("words",),
)
