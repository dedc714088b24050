"""The benchmarks, a package each. This list names them, so that none has to be imported to be named.

tests/test_contract.py checks that the list has each package, with what its class says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Listed:
    """A benchmark in the list."""

    name: str  # of its package and its metric
    about: str  # what it measures, in a few words
    datasets: tuple[str, ...] = ()  # its own
    reads: tuple[str, ...] = ()  # those of other packages on which it is scored
    differences: Mapping[str, str] = field(default_factory=dict)  # of its datasets, where it has several

    def about_dataset(self, name: str) -> str:
        """Return what it measures, and what sets this dataset of it apart."""
        if name in self.differences:
            return f"{self.about}: {self.differences[name]}"
        return self.about

    @property
    def is_scored(self) -> bool:
        """Whether responses are scored under it."""
        return self.name != TRAINING and bool(self.datasets or self.reads)


# The package without a metric: its dataset is for training.
TRAINING = "object_enumeration"

LISTED = (
    Listed("amber", "descriptions and yes/no questions about existence, attributes, relations", ("amber",)),
    Listed("chair", "object hallucination in captions, word by word", reads=("throne_coco",)),
    Listed(
        "dash_b",
        "yes/no questions about objects, half of them on images that make models see what is not there",
        ("dash_b",),
    ),
    Listed("gavie", "1,000 instructions: relevancy and accuracy, rated from 0 to 10", ("gavie",)),
    Listed("hallusionbench", "control pairs of yes/no questions", ("hallusionbench",)),
    Listed(
        "haloquest",
        "free-form questions with a false premise, too little context, or details that are hard to see",
        ("haloquest",),
    ),
    Listed("hqh", "free-form questions: wrong main answers and false extra claims", ("hqh",)),
    Listed("hqm", "how far a benchmark can be believed, from the scores of several models"),
    Listed(
        "humblebench",
        "questions with five choices, of which the last says that none of the others is right",
        ("humblebench",),
    ),
    Listed(
        "llava_bench",
        "60 questions about images from everywhere: responses rated beside GPT-4's answers",
        ("llava_bench",),
    ),
    Listed("mme", "yes/no questions about perception and cognition, two about each image", ("mme",)),
    Listed("mmhal", "free-form questions of eight types, rated from 0 to 6", ("mmhal",)),
    Listed(TRAINING, "training data: what is in an image, where, and what is not", ("object_enumeration",)),
    Listed(
        "object_halbench",
        "object hallucination in detailed descriptions, by the names that a judge extracts",
        ("object_halbench",),
    ),
    Listed("openchair", "hallucinated nouns in captions, of any kind", ("openchair",)),
    Listed(
        "pope",
        "yes/no questions about objects",
        ("pope", "repope", "pope_c", "pope_c_objects365"),
        differences={
            "pope": "POPE's own, or new ones",
            "repope": "POPE's about COCO, with corrected answers",
            "pope_c": "every class of COCO in every image",
            "pope_c_objects365": "every class of Objects365 in every image",
        },
    ),
    Listed(
        "throne",
        "object hallucination in free-form descriptions",
        ("throne_coco", "throne_objects365"),
        differences={"throne_coco": "COCO's 80 classes", "throne_objects365": "Objects365's 365 classes"},
    ),
)


def listed(name: str) -> Listed | None:
    """Return the benchmark of this name, or of the dataset of this name; None if there is none."""
    for benchmark in LISTED:
        if name == benchmark.name or name in benchmark.datasets:
            return benchmark
    return None
