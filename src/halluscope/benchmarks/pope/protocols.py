"""The ways in which POPE is scored.

Sources: POPE's evaluate.py; LLaVA's llava/eval/eval_pope.py (LLaVA's issue 626 says that its paper prints the mean of
the three F1); lmms-eval's lmms_eval/tasks/pope/utils.py; VLMEvalKit's vlmeval/dataset/image_yorn.py and utils/yorn.py;
RePOPE's src/eval_utils.py; VCD's eval_pope.py; EvalScope's benchmarks/pope/pope_adapter.py.
"""

from halluscope.explaining.protocols import Protocol, Protocols, Way

ALL_ROWS = Way("all of the dataset, the samplings together")
ONE_SAMPLING = "papers that print one sampling"
USUAL = {"convention": "usual"}

OFFICIAL = Protocol(
    "official",
    by="POPE's evaluate.py, which is given one sampling at a time",
    prompt="{question}",
    scores=("accuracy", "precision", "recall", "f1", "yes_ratio"),
    rows=ALL_ROWS,
    labels=Way("the dataset's"),
    parser=Way(
        "no if No, not or no is a word before the first full stop; else yes, even if empty",
        {"parser": "pope"},
    ),
    counting=Way("over all rows; yes is the positive class", USUAL),
)
LLAVA = OFFICIAL.but(
    "llava",
    by="LLaVA's eval_pope.py, and papers that compare with it",
    prompt="{question}\nAnswer the question using a single word or phrase.",  # its llava_pope_test.jsonl
    scores=("accuracy", "f1"),
    called={"accuracy": "accuracy_mean", "f1": "f1_mean"},
    counting=Way("accuracy and F1 of each sampling, then the mean of the three", USUAL),
)
LMMS_EVAL = OFFICIAL.but(
    "lmms-eval",
    by="lmms-eval, task pope",
    prompt="{question} Answer the question using a single word or phrase.",
    parser=Way(
        "yes or no only if that is the whole response, in upper or lower case; else unreadable",
        {"parser": "lmms-eval"},
    ),
    counting=Way(
        "unreadable is wrong, but not in precision and recall; the yes ratio is from the labels",
        {"convention": "lmms-eval"},
    ),
)
VLMEVALKIT = OFFICIAL.but(
    "vlmevalkit",
    by="VLMEvalKit without its judge model; its Overall is F1",
    prompt="",
    scores=("accuracy", "precision", "recall", "f1"),
    rows=Way("all of the dataset; a question of several samplings is asked once and counts in each"),
    parser=Way(
        "a word yes without a word no, or the reverse; else unreadable",
        {"parser": "vlmevalkit"},
    ),
    counting=Way("unreadable is wrong in accuracy, and does not count as yes", USUAL),
)
VCD = OFFICIAL.but(
    "vcd",
    by="VCD's eval_pope.py, projects that copied it, and EvalScope",
    parser=Way(
        "by the right answer: a response that contains it is right, any other is wrong",
        {"parser": "vcd"},
    ),
)
EVALSCOPE = VCD.but(
    "evalscope",
    by="EvalScope, which scores one sampling at a time; its parser is VCD's",
    prompt="{question}\nPlease answer YES or NO without an explanation.",
    only_named=True,
)
STRICT = VLMEVALKIT.but(
    "strict",
    by="this project: unreadable responses are counted, and never become a yes or no",
    scores=("accuracy", "precision", "recall", "f1", "yes_ratio", "unparsed"),
    rows=ALL_ROWS,
    parser=Way("a clear yes or no, in words or as a statement; else unreadable", {"parser": "strict"}),
)
CORRECTED = OFFICIAL.but(
    "corrected",
    by="POPE's rule with RePOPE's answers",
    needs=("corrected",),
    rows=Way("the questions that RePOPE has an answer to"),
    labels=Way("RePOPE's, from --corrected", dataset="corrected"),
)
REPOPE = CORRECTED.but(
    "repope",
    by="RePOPE's script, which scores one sampling at a time",
    prompt="",
    parser=Way(
        "yes if the response contains yes, else no if it contains no; else unreadable",
        {"parser": "repope"},
    ),
    counting=Way("unreadable is left out of every count", {"convention": "repope"}),
)
RANDOM = OFFICIAL.but(
    "random",
    by=ONE_SAMPLING,
    only_named=True,
    rows=Way("the random sampling", {"sampling": "random"}),
)
POPULAR = RANDOM.but("popular", only_named=True, rows=Way("the popular sampling", {"sampling": "popular"}))
ADVERSARIAL = RANDOM.but(
    "adversarial", only_named=True, rows=Way("the adversarial sampling", {"sampling": "adversarial"})
)
FIRST_WORD = STRICT.but(
    "first-word",
    by="this project, for negated questions",
    only_named=True,
    parser=Way("the first word, if that is yes or no; else unreadable", {"parser": "first-word"}),
)

PROTOCOLS = Protocols(
    (
        OFFICIAL,
        LLAVA,
        LMMS_EVAL,
        VLMEVALKIT,
        VCD,
        EVALSCOPE,
        STRICT,
        CORRECTED,
        REPOPE,
        RANDOM,
        POPULAR,
        ADVERSARIAL,
        FIRST_WORD,
    ),
    shown=("accuracy", "precision", "recall", "f1", "yes_ratio", "unparsed"),
    read=("said",),
)
