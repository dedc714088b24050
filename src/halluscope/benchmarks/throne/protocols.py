"""The ways in which THRONE is scored: by the paper, its supplement, and its released code.

Sources: section 3.1 and Table 1 of the paper; Table 2 of the supplement. All three use the same votes, so judges are
asked once.
"""

from halluscope.explaining.protocols import Discrepancy, Protocol, Protocols, Way

PAPER = Protocol(
    "paper",
    by="THRONE's Table 1",
    prompt="Describe this image in detail.",
    rows=Way("the images that are described"),
    labels=Way("the dataset's"),
    parser=Way("the votes of --judges on --questions, by the same --agreement"),
    counting=Way(
        "pooled over all cells; over classes, F of the two averages",
        {"class_f": "of_means", "all_average": "pooled"},
    ),
)
SUPPLEMENT = PAPER.but(
    "supplement",
    by="the supplement's Table 2",
    counting=Way(
        "pooled over all cells; over classes, the average of each class's F",
        {"class_f": "mean", "all_average": "pooled"},
    ),
)
RELEASED = PAPER.but(
    "released",
    by="the released code",
    discrepancy=Discrepancy(
        "it asks other questions (--questions released)", unless={"questions": ["released"]}
    ),
    counting=Way(
        "the mean over images; over classes, the average of each class's F",
        {"class_f": "mean", "all_average": "image"},
    ),
)

PROTOCOLS = Protocols(
    (
        PAPER,
        SUPPLEMENT,
        RELEASED,
    ),
    shown=(
        "precision_all",
        "recall_all",
        "f1_all",
        "f0.5_all",
        "precision_cls",
        "recall_cls",
        "f1_cls",
        "f0.5_cls",
    ),
)
