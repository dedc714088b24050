"""THRONE's prompts to its judges: three templates with the same meaning, in a frame that holds the LVLM's response.

Sources: THRONE, section 4.3 (set `paper`); the prompts of THRONE's released code with M = 3 (set `released`). The other
two sets are this project's. `plain` has the paper's templates in correct English and with readable class names. It
also defines each class whose name says more or less than the dataset means; such names are the greatest source of the
judges' errors (supplement, section 4.2). `claims` has claims for checkers, with the same names and no definitions.
"""

from collections.abc import Sequence

from halluscope.judging.judge import SEPARATOR
from halluscope.judging.questions import QuestionSet, question_set

PAPER = QuestionSet(
    name="paper",
    templates=(
        "Is there {a/an} {x} in this image?",
        "Does the text imply {a/an} {x} is in the image?",
        "Does the text explicitly mention {a/an} {x} is in the image?",
    ),
    frame="Text: {response}\n\nRead the text about an image and answer the question.\n\n"
    "Question: Please answer yes or no. {question}",
)
_OF_PLURALS = (
    "Please answer yes or no. Are there {x} in this image?",
    "Are there {x} in this image?",
    "Please answer yes or no. Does the text imply {x} are in the image?",
)
RELEASED = QuestionSet(
    name="released",
    templates=(
        "Please answer yes or no. Is there {a/an} {x} in this image?",
        "Is there {a/an} {x} in this image?",
        "Please answer yes or no. Does the text imply {a/an} {x} is in the image?",
    ),
    frame="Text: {response}\n\nRead the text and answer the question.\n\n{question}",
    max_characters=1024,
    ask_as={"tie": "necktie"},
    own={"skis": _OF_PLURALS, "scissors": _OF_PLURALS},
    by_letter=True,
)
# The number in the name goes up when a word or a definition changes.
PLAIN = QuestionSet(
    name="plain-1",
    templates=PAPER.templates,
    frame=PAPER.frame,
    of_many=(
        "Are there {x} in this image?",
        "Does the text imply {x} are in the image?",
        "Does the text explicitly mention {x} are in the image?",
    ),
)

# This project's claims for checkers, in MiniCheck's frame (see `halluscope.judging.models.seq2seq`).
CLAIMS = QuestionSet(
    name="claims-1",
    templates=(
        "There is {a/an} {x} in the image.",
        "The image shows {a/an} {x}.",
        "One can see {a/an} {x} in the image.",
    ),
    frame=f"predict: {{response}}{SEPARATOR}{{question}}",
    of_many=(
        "There are {x} in the image.",
        "The image shows {x}.",
        "One can see {x} in the image.",
    ),
    claims=True,
)

SETS = {"paper": PAPER, "released": RELEASED, "plain": PLAIN, "claims": CLAIMS}


def load(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the paper's frame."""
    return question_set(questions, SETS, PAPER.frame)
