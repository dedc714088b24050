"""How each protocol scores LLaVA-Bench: LLaVA's scripts, this project, and papers that print OPERA's two ratings.

Sources: LLaVA's eval_gpt_review_bench.py and summarize_gpt_review.py; OPERA's gpt4v_eval.py.
"""

from halluscope.explaining.protocols import Discrepancy, Protocol, Protocols, Way

OFFICIAL = Protocol(
    "official",
    by="LLaVA's scripts",
    discrepancy=Discrepancy(
        "the means are rounded to three digits before they are divided, and -1, -1 of a reply that could not be read "
        "is added up"
    ),
    prompt="{question}",
    rows=Way("all questions"),
    labels=Way("GPT-4's answers, which the judge rates too"),
    parser=Way(
        "the authors' words to --judge (--rule); the first line of a reply is a pair",
        {"prompts": "authors"},
    ),
    counting=Way("the sum of the responses' ratings in percent of that of GPT-4's answers"),
)
OURS = OFFICIAL.but(
    "ours",
    by="this project, in its own words, so the judge is asked again",
    only_named=True,
    discrepancy=None,
    parser=Way("this project's words to --judge", {"prompts": "ours"}, without=("rule",)),
)
ACCURACY = OFFICIAL.but(
    "opera-accuracy",
    by="OPERA's script, whose GPT-4V sees the image; papers print the means",
    only_named=True,
    discrepancy=None,
    needs=("ratings",),
    parser=Way(
        "the line Accuracy of the replies in --ratings", {"prompts": "opera-accuracy"}, without=("rule",)
    ),
)
DETAILEDNESS = ACCURACY.but(
    "opera-detailedness",
    only_named=True,
    parser=Way(
        "the line Detailedness of the replies in --ratings",
        {"prompts": "opera-detailedness"},
        without=("rule",),
    ),
)

PROTOCOLS = Protocols(
    (
        OFFICIAL,
        OURS,
        ACCURACY,
        DETAILEDNESS,
    ),
    shown=("score", "model_mean", "reference_mean", "unreadable"),
    read=("model", "reference"),
)
