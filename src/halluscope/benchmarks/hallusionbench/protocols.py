"""How each protocol scores HallusionBench.

Sources: the authors' evaluation.py and utils.py; lmms-eval's lmms_eval/tasks/hallusion_bench/evaluate_hb.py and
utils.py; VLMEvalKit's vlmeval/dataset/image_yorn.py and utils/yorn.py.
"""

from halluscope.explaining.protocols import Discrepancy, Protocol, Protocols, Way

# The options of a judge that is a language model
ASKING = ("repeats", "temperature", "fresh", "judge_seed", "max_tokens", "prompts", "reading")

OFFICIAL = Protocol(
    "official",
    by="the authors' script",
    discrepancy=Discrepancy(
        "GPT-4 judges, in the authors' words (--judge, --prompts authors)",
        unless={"judge": True, "prompts": "authors"},
    ),
    prompt="{question}",
    rows=Way("all questions, including those without an image", {"protocol": "official"}),
    labels=Way("the dataset's"),
    parser=Way("the verdicts of --judge, or of rules if no judge is named"),
    counting=Way("a yes is inferred from verdicts", {"bias": "official"}),
)
HALLUSCOPE = OFFICIAL.but(
    "halluscope",
    by="this project without a language model",
    discrepancy=None,
    counting=Way("a yes is a response that was read as yes", {"bias": "answers"}),
    parser=Way("rules read yes, no and uncertain", {"judge": "rules"}, without=ASKING),
)
LMMS_EVAL = OFFICIAL.but(
    "lmms-eval",
    by="lmms-eval, task hallusion_bench_image",
    scores=("aAcc", "qAcc", "fAcc"),
    rows=Way("the questions with an image, 951 of 1,129", {"protocol": "lmms-eval"}, without=("diagnosis",)),
)
VLMEVALKIT = LMMS_EVAL.but(
    "vlmevalkit",
    discrepancy=None,
    by="VLMEvalKit without its judge model; its headline is the mean of the three (overall)",
    prompt="",
    scores=("aAcc", "qAcc", "fAcc", "overall"),
    rows=Way("the questions with an image, 951 of 1,129", {"protocol": "vlmevalkit"}, without=("diagnosis",)),
    parser=Way(
        "the word yes without the word no, or the reverse; otherwise unreadable, and wrong",
        {"judge": "vlmevalkit"},
        without=ASKING,
    ),
)

PROTOCOLS = Protocols(
    (
        OFFICIAL,
        HALLUSCOPE,
        LMMS_EVAL,
        VLMEVALKIT,
    ),
    shown=("aAcc", "qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "overall", "pct_diff", "fp_ratio", "unread"),
    read=("correctness",),
    words={"0": "incorrect", "1": "correct", "2": "uncertain"},
)
