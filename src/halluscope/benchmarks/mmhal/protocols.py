"""How each protocol scores MMHal-Bench: the authors' eval_gpt4.py, and this project.

Protocols with the same words share the judge's replies.
"""

from halluscope.explaining.protocols import Protocol, Protocols, Way

OFFICIAL = Protocol(
    "official",
    by="the authors' eval_gpt4.py",
    prompt="{question}",
    rows=Way("all questions"),
    labels=Way("the dataset's"),
    counting=Way("the mean of all ratings; a rating below 3 is a hallucination"),
    parser=Way(
        "the authors' words to --judge; a reply that their script cannot read counts as 0",
        {"reading": "official", "prompts": "authors"},
    ),
)
STRICT = OFFICIAL.but(
    "strict",
    by="this project",
    parser=Way(
        "the authors' words to --judge; an unreadable reply gives no rating",
        {"reading": "strict", "prompts": "authors"},
    ),
)
OURS = STRICT.but(
    "ours",
    by="this project, in its own words, so the judge is asked again",
    only_named=True,
    parser=Way(
        "this project's words to --judge; an unreadable reply gives no rating",
        {"reading": "strict", "prompts": "ours"},
    ),
)

PROTOCOLS = Protocols(
    (
        OFFICIAL,
        STRICT,
        OURS,
    ),
    shown=("rating", "hallucination_rate", "unreadable"),
    read=("rating",),
)
