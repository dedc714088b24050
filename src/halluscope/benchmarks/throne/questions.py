"""What THRONE's judges are asked about each class: templates in a frame that holds the response.

Sources: THRONE, section 4.3 (`PAPER`); the prompts of THRONE's released code with M = 3 (`RELEASED`). The others are
this project's: `PLAIN` has the paper's templates in correct English and with readable class names, and defines each
class whose name says more or less than the dataset means; such names are the greatest source of the judges' errors
(supplement, section 4.2). `CLAIMS` has claims for checkers, in MiniCheck's frame
(`halluscope.judging.models.engine`), with the same names and no definitions. The number in a name goes up when a word
or a definition changes.
"""

from collections.abc import Sequence

from halluscope.judging.questions import QuestionSet, question_set

PAPER_TEMPLATES = (
    "Is there {a/an} {x} in this image?",
    "Does the text imply {a/an} {x} is in the image?",
    "Does the text explicitly mention {a/an} {x} is in the image?",
)
PAPER_FRAME = (
    "Text: {response}\n\nRead the text about an image and answer the question.\n\n"
    "Question: Please answer yes or no. {question}"
)

# What the released code asks about the two classes whose names are plurals
RELEASED_OF_MANY = (
    "Please answer yes or no. Are there {x} in this image?",
    "Are there {x} in this image?",
    "Please answer yes or no. Does the text imply {x} are in the image?",
)

PAPER = QuestionSet("paper", PAPER_TEMPLATES, PAPER_FRAME)

RELEASED = QuestionSet(
    "released",
    templates=(
        "Please answer yes or no. Is there {a/an} {x} in this image?",
        "Is there {a/an} {x} in this image?",
        "Please answer yes or no. Does the text imply {a/an} {x} is in the image?",
    ),
    frame="Text: {response}\n\nRead the text and answer the question.\n\n{question}",
    max_characters=1024,
    by_letter=True,
    ask_as={"tie": "necktie"},
    own={"skis": RELEASED_OF_MANY, "scissors": RELEASED_OF_MANY},
)

PLAIN = QuestionSet(
    "plain-1",
    PAPER_TEMPLATES,
    PAPER_FRAME,
    of_many=(
        "Are there {x} in this image?",
        "Does the text imply {x} are in the image?",
        "Does the text explicitly mention {x} are in the image?",
    ),
)

CLAIMS = QuestionSet(
    "claims-1",
    templates=(
        "There is {a/an} {x} in the image.",
        "The image shows {a/an} {x}.",
        "One can see {a/an} {x} in the image.",
    ),
    frame="predict: {response}</s>{question}",
    of_many=("There are {x} in the image.", "The image shows {x}.", "One can see {x} in the image."),
    claims=True,
)

SETS = {"paper": PAPER, "released": RELEASED, "plain": PLAIN, "claims": CLAIMS}


def questions_of(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the paper's frame."""
    return question_set(questions, SETS, PAPER.frame)
