"""What OpenCHAIR's judges are asked about each noun: a template in a frame that holds the right caption.

Source of `RELEASED`: `make_prompt` in utils.py of the authors' repository (mocha_code), after the paper's revision. The
others are this project's: `PLAIN` is for judges that say only yes or no, and asks THRONE's first question in THRONE's
frame (section 4.3), for which FLAN-T5's errors are known; `CLAIMS` is for checkers, in MiniCheck's frame
(`halluscope.judging.models.engine`). The number in a name goes up when a word changes.
"""

from collections.abc import Sequence

from halluscope.judging.questions import QuestionSet, question_set

RELEASED = QuestionSet(
    "released",
    templates=("Does the image contain the following object: {x}?",),
    frame="Here are a few descriptions of an image: {response}.\n{question}\nAnswer yes/no/unsure.\n The answer is: ",
)

PLAIN = QuestionSet(
    "plain-1",
    templates=("Is there {a/an} {x} in this image?",),
    frame=(
        "Text: {response}\n\nRead the text about an image and answer the question.\n\n"
        "Question: Please answer yes or no. {question}"
    ),
)

CLAIMS = QuestionSet(
    "claims-1",
    templates=("There is {a/an} {x} in the image.",),
    frame="predict: {response}</s>{question}",
    claims=True,
)

SETS = {"released": RELEASED, "plain": PLAIN, "claims": CLAIMS}


def questions_of(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the frame of `PLAIN`."""
    return question_set(questions, SETS, PLAIN.frame)
