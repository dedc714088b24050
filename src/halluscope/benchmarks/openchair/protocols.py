"""The ways in which OpenCHAIR is scored: by the authors' script as released, and by its first version."""

from halluscope.explaining.protocols import Discrepancy, Protocol, Protocols, Way

RELEASED = Protocol(
    "released",
    by="the authors' script",
    discrepancy=Discrepancy("its nouns are spaCy's, which this package does not read with"),
    rows=Way("the captions"),
    labels=Way("the right captions"),
    parser=Way("nouns by --reader, votes of --judges on --questions"),
    counting=Way(
        "nouns as often as they occur, except words for the image; undecided nouns do not count",
        {"convention": "released"},
    ),
)
FIRST = RELEASED.but(
    "first",
    by="the first version of the authors' script",
    counting=Way(
        "each noun once per caption; undecided nouns count as hallucinated", {"convention": "first"}
    ),
)
NLTK = RELEASED.but(
    "nltk",
    by="this project, with a tagger",
    discrepancy=None,
    only_named=True,
    parser=Way("nouns by nltk, votes of --judges on --questions", {"reader": "nltk"}),
)

PROTOCOLS = Protocols(
    (
        RELEASED,
        FIRST,
        NLTK,
    ),
    shown=("openchair", "undecided", "unreadable"),
    read=("nouns",),
)
