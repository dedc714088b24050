"""OpenCHAIR's prompts to its judges, one per noun, in a frame that holds the right caption.

Source of `released`: `make_prompt` in utils.py of the authors' repository (mocha_code), after the paper's revision. The
other two sets are this project's. `plain` is for judges that say only yes or no: it asks THRONE's first question in
THRONE's frame (section 4.3), for which FLAN-T5's errors are known. `claims` is for checkers, in MiniCheck's
frame (see `halluscope.judging.models.seq2seq`).
"""

from collections.abc import Sequence

from halluscope.judging.judge import SEPARATOR
from halluscope.judging.questions import QuestionSet, question_set

RELEASED = QuestionSet(
    name="released",
    templates=("Does the image contain the following object: {x}?",),
    frame="Here are a few descriptions of an image: {response}.\n{question}\nAnswer yes/no/unsure.\n The answer is: ",
)
# The number in a name goes up when a word changes.
PLAIN = QuestionSet(
    name="plain-1",
    templates=("Is there {a/an} {x} in this image?",),
    frame="Text: {response}\n\nRead the text about an image and answer the question.\n\n"
    "Question: Please answer yes or no. {question}",
)
CLAIMS = QuestionSet(
    name="claims-1",
    templates=("There is {a/an} {x} in the image.",),
    frame=f"predict: {{response}}{SEPARATOR}{{question}}",
    claims=True,
)

SETS = {"released": RELEASED, "plain": PLAIN, "claims": CLAIMS}


def load(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the frame of `plain`."""
    return question_set(questions, SETS, PLAIN.frame)
