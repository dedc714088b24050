"""How the columns of other people's files are called: ids, images, questions, responses."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

# The columns where a response's text is looked for; the first that a file has is tried first
TEXTS = (
    "response",
    "raw_response",
    "model_prediction",
    "prediction",
    "output",
    "model_output",
    "model_answer",
    "pred",
    "generated_caption",
    "answer",
    "text",
    "caption",
)

# The columns that hold the response in some files, and in others what people wrote
CAPTION = "caption"
# So do these, but where right answers are texts, what people wrote is recognised by them
BY_ANYBODY = ("answer", "text")

# The columns that hold the right answer, whoever wrote the file; "answer" may be the LVLM's
RIGHT_ANSWERS = (
    "label",
    "gold",
    "gt_answer",
    "ground_truth",
    "target",
    "labels",
    "gt",
    "gt_label",
    "correct_answer",
    "truth",
)

# The columns that name the LVLM
MODELS = ("model_id", "model", "model_name")

ANSWER_ID = "answer_id"  # the column with what a response is called

# The columns that name an image
IMAGES = (
    "image_id",
    "file_name",
    "image",
    "image_path",
    "img_id",
    "file",
    "img",
    "image_name",
    "filename",
    "images",
)

# The columns where an id is looked for, after the column with the dataset's own name for the id. They are used only for
# a dataset whose rows are identified by one column; those that name an image, only where an image identifies them
IDS = (
    "image_id",
    "question_id",
    "custom_id",  # a batch's, beside which `id` is what the server calls the request
    "id",
    "qid",
    "index",
    "image",
    "file_name",
    "image_path",
    "img_id",
    "file",
    "img",
    "image_name",
    "filename",
    "images",
)

# The columns where a response may state the question, and the whole prompt with words around the question
QUESTIONS = ("question", "prompt", "query", "instruction", "text")

# The column of the right answer beside which `text` is the question, if no other column is
LABEL = "label"

# The key under which a response names the prompt that was asked, if the prompt has a name
PROMPT = "halluscope_prompt"

# The key under which a row that was read from a chat says how many responses the chat has, if there are several
TURNS = "halluscope_turns"

# The columns whose names have a use of their own
KNOWN = frozenset(IDS) | frozenset(QUESTIONS) | frozenset(TEXTS) | {PROMPT}

# How the name of a column ends that says whether a response is right
_WHETHER_RIGHT = r"(?:correct|right|match|hit|score|acc|check)"
# How a column is named that somebody's texts are in, but no right answers
SAYS = re.compile(
    r"(?!gt|gold|ground|tru|expected|correct(?!ed)|ref(?!in)|label|target|.*(?:judge|eval)"
    r"|.*_(?:id|details|file|path|type|category|source|gt|gold|true|label)$"
    rf"|.*_{_WHETHER_RIGHT}$)"
    r".*(?:answer|ans$|response|caption|pred|output|generat|complet|reply|descri)"
)
# A column with another name holds the texts too, unless it is one of these
OTHER_USES = re.compile(
    r"(?:gt|gold|ground|tru|expected|correct(?!ed)|ref(?!in)|label|target|judge|eval|note|reason|model).*"
    rf"|.*(?:type|category|url|file|path|note)|(?:.*_)?(?:id|{_WHETHER_RIGHT})|split|source|task"
)
SAMPLING = "sampling"  # the set of a row, or responses that were sampled

_IMAGE = re.compile(r"[^\n]{1,300}\.(?:jpe?g|png|webp|gif|bmp|tiff?)", re.IGNORECASE)


def only_one_in(name: str, words: Iterable[str]) -> str:
    """Return the only one of some words that a name holds, in any case; "" if it holds none, or several.

    A longer word that begins like one, such as "randomly", is another word.

    >>> only_one_in("POPE_Random.jsonl", ["random", "popular"])
    'random'
    """
    lower = name.lower()
    present = []
    for word in words:
        if re.search(rf"{re.escape(word)}(?![a-z])", lower):
            present.append(word)
    if len(present) != 1:
        return ""
    return present[0]


def parts_in(name: str, parts: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return which part of the rows a name says, such as {"sampling": "random"}, given the values of columns."""
    named = {}
    for column, values in parts.items():
        value = only_one_in(name, values)
        if value:
            named[column] = value
    return named


def is_image_file(text: str) -> bool:
    """Whether a text is an image file's name."""
    return len(text) < 400 and _is_image_file(text.strip())


@lru_cache(2**12)
def _is_image_file(text: str) -> bool:
    return _IMAGE.fullmatch(text) is not None
