"""The ways in which AMBER is scored.

Sources: AMBER's inference.py; lmms-eval's lmms_eval/tasks/amber_g/utils.py; VLMEvalKit's
vlmeval/dataset/image_yorn.py and utils/yorn.py.
"""

from halluscope.explaining.protocols import Discrepancy, Protocol, Protocols, Way

OFFICIAL = Protocol(
    "official",
    by="AMBER's inference.py",
    scores=("amber", "chair", "cover", "hal", "cog", "accuracy", "precision", "recall", "f1"),
    rows=Way("the descriptions and questions that have responses"),
    labels=Way("the dataset's"),
    parser=Way("exactly Yes or No; nouns by --reader", {"parser": "official"}),
    counting=Way(
        "each score rounded to 0.1 %, F1 from rounded scores; no is the positive class",
        {"convention": "official"},
    ),
    discrepancy=Discrepancy(
        "its nouns are nltk's (--reader nltk), and its synonyms are found by word vectors (--similar)",
        scores=("amber", "chair", "cover", "hal", "cog"),
        unless={"reader": "nltk", "similar": True},
    ),
)
HALLUSCOPE = OFFICIAL.but(
    "halluscope",
    by="this project",
    scores=(),
    discrepancy=None,
    parser=Way("a clear yes or no, in words or as a statement; nouns by --reader", {"parser": "strict"}),
    counting=Way("nothing is rounded; no is the positive class", {"convention": "exact"}),
)
LMMS_EVAL = HALLUSCOPE.but(
    "lmms-eval",
    by="lmms-eval, task amber_g",
    scores=("chair", "cover", "hal", "cog"),
    rows=Way("the descriptions"),
    parser=Way(
        "yes if the response contains yes, else no if it contains no; nouns by --reader",
        {"parser": "lmms-eval"},
    ),
    counting=Way("0.001 is added to each total once per description", {"convention": "lmms-eval"}),
    discrepancy=Discrepancy("it has nltk's nouns, and synonyms by smaller vectors"),
)
VLMEVALKIT = HALLUSCOPE.but(
    "vlmevalkit",
    by="VLMEvalKit without its judge model; its accuracy is Avg ACC",
    prompt="{question} Please answer yes or no.",
    scores=("accuracy",),
    called={"accuracy": "accuracy_mean"},
    rows=Way("the questions"),
    parser=Way("a word yes without a word no, or the reverse; else unreadable", {"parser": "vlmevalkit"}),
    counting=Way("the mean of the accuracies of existence, attribute and relation", {"convention": "exact"}),
)
OFFICIAL_NLTK = OFFICIAL.but(
    "official-nltk",
    by="AMBER's inference.py, with nltk's nouns whatever --reader says",
    only_named=True,
    parser=Way("exactly Yes or No; nouns as nltk tags them", {"parser": "official", "reader": "nltk"}),
    discrepancy=Discrepancy(
        "its synonyms are found by word vectors (--similar)",
        scores=("amber", "chair", "cover", "hal", "cog"),
        unless={"similar": True},
    ),
)

PROTOCOLS = Protocols(
    (
        OFFICIAL,
        HALLUSCOPE,
        LMMS_EVAL,
        VLMEVALKIT,
        OFFICIAL_NLTK,
    ),
    shown=("amber", "chair", "cover", "hal", "cog", "accuracy", "precision", "recall", "f1", "unreadable"),
    read=("said", "mentions"),
)
