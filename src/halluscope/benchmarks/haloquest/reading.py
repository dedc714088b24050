"""How a judge is asked whether a response is right, and how its reply is read.

The authors' notebook (HaloQuest_Colab.ipynb in google/haloquest, Apache-2.0, Copyright 2024 DeepMind Technologies
Limited) asks Gemini, given the question and the answers that people wrote. prompts/authors.txt has the notebook's
instructions up to the last blank line. prompts/ours.txt states the same rules in this project's words, and two points
more clearly: one right answer suffices, and saying that the image does not tell is not a refusal. The end of both is
this project's: in the notebook, the library Langfun asks for an object of its schema. From that schema, the prompt asks
for the two sentences and the verdict; the question, the response and the right answers are not repeated.
"""

from collections.abc import Mapping
from typing import Any

from halluscope.files.writing import json_text
from halluscope.judging.judge import Schema
from halluscope.judging.verdict_prompts import Fields, JsonPrompt, Verdict, beside
from halluscope.sanitize import encodable

POINT = "sentence_interpret_model_response_main_point"
POINT_OF_ANSWERS = "sentence_interpret_groundtruth_response_main_point"
IS_CORRECT = "is_prediction_correct"


class OurPrompt(JsonPrompt):
    """The prompt in this project's words."""

    def texts(self, fields: Fields, response: str) -> dict[str, str]:
        return {
            "question": json_text(fields["question"]),
            "answers": json_text(fields["answers"]),
            "response": json_text(response),
        }


class AuthorsPrompt(JsonPrompt):
    """The notebook's prompt: texts stand in it as they are, and a judge is sent no schema."""

    def texts(self, fields: Fields, response: str) -> dict[str, str]:
        return {
            "question": encodable(fields["question"]),
            "answers": encodable(fields["stated"]),
            "response": encodable(response),
        }

    def schema(self, code: str = "") -> Schema | None:
        return None


def read_ours(parts: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a reply to our prompt."""
    is_correct = parts["verdict"] == "correct"
    return Verdict({"correct": float(is_correct)}, {"point": encodable(parts["point"])})


def read_authors(parts: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a reply to the authors' prompt."""
    return Verdict({"correct": float(parts[IS_CORRECT])}, {"point": encodable(parts[POINT])})


OURS = OurPrompt(
    "haloquest-prompt-2",
    beside(__file__, "ours.txt"),
    reply={
        "point": {"type": "string"},
        "verdict": {"type": "string", "enum": ["correct", "incorrect"]},
    },
    stated_in=("verdict",),
    verdict=read_ours,
    blank_ok=False,
)

AUTHORS = AuthorsPrompt(
    "haloquest-authors-prompt-3",
    beside(__file__, "authors.txt"),
    reply={
        POINT: {"type": "string"},
        POINT_OF_ANSWERS: {"type": "string"},
        IS_CORRECT: {"type": "boolean"},
    },
    stated_in=(IS_CORRECT,),
    verdict=read_authors,
    blank_ok=False,
)

PROMPTS = {"ours": OURS, "authors": AUTHORS}  # by the values of the option `prompts`
