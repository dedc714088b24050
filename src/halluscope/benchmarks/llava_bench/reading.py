"""How a judge is asked to rate GPT-4's answer and a response, and how its reply is read.

The authors' words stand in LLaVA's rule.json, which is not part of this package: the user names it, and its prompts are
known by their sha256. The script (llava/eval/eval_gpt_review_bench.py) also sends a system message, which is not sent
here. Its first version, of July 2023, took a caption for a list of sentences, and put a line break after each of its
characters; later ones send the caption as it is, and so does this prompt.

OPERA's GPT-4V (gpt4v_eval.py) sees the image, and rates two responses for accuracy and for detailedness. Judges see no
image here, so its replies can be given, and nobody is asked for them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halluscope.files.opening import read_json
from halluscope.judging import guard
from halluscope.judging.prompts import Refusal, sha256_of_text
from halluscope.judging.verdict_prompts import (
    JsonPrompt,
    PinnedPrompt,
    Verdict,
    VerdictPrompt,
    WordPrompt,
    beside,
)
from halluscope.paths import path_of
from halluscope.sanitize import encodable, short_repr

LOWEST = 1
HIGHEST = 10

# The verdict's two numbers: the rating of GPT-4's answer, and that of the response
REFERENCE = "reference"
MODEL = "model"

# Where harnesses have the pair: lmms-eval in an object of each sample, VLMEvalKit in two columns
LMMS_EVAL = "gpt_eval_llava_all"
VLMEVALKIT = ("gpt4_score", "score")

NUMBER = r"(\d+(?:\.\d+)?)"
PAIR = re.compile(rf"\s*{NUMBER}(?:\s*,\s*|\s+){NUMBER}\s*")

# Two numbers on a line of a response, or after a word that OPERA's judge rates
HELD = re.compile(rf"^{PAIR.pattern}$", re.MULTILINE)

NO_PAIR = "the first line of a reply must be two ratings from 1 to 10, and nothing else"
NO_ASPECT = "a reply must have one line such as 'Accuracy: 7 8', with two ratings from 1 to 10"

RULE_URL = "https://github.com/haotian-liu/LLaVA/blob/main/llava/eval/table/rule.json"
RULES = ("llava_bench_conv", "llava_bench_detail", "llava_bench_complex")
RULE_SHA256 = "2ce22b562d6008864970ea863ac8a4d385ea6f2e64ab1313a23f825202a9529d"  # of the prompt of each

FRAME = """\
[Context]
{context}

[Question]
{question}

[Assistant 1]
{reference}

[End of Assistant 1]

[Assistant 2]
{answer}

[End of Assistant 2]

[System]
{rule}

"""


def pair_in(text: str) -> Verdict | None:
    """Return the verdict of a text that is two ratings; None if it is anything else."""
    match = PAIR.fullmatch(text)
    if match is None:
        return None
    reference = float(match[1])
    model = float(match[2])
    if not (LOWEST <= reference <= HIGHEST and LOWEST <= model <= HIGHEST):
        return None
    return Verdict({REFERENCE: reference, MODEL: model})


def read_words(reply: str, response: str = "") -> Verdict | None:
    """Return the verdict of a reply to the authors' prompt, None unless its first line is two ratings.

    If the response itself has such a line, no reply is read: the judge may have copied it.

    >>> read_words("7 9\\nAssistant 1 is brief.").numbers, read_words("7, 9 of 10") is read_words("-1 -1") is None
    ({'reference': 7.0, 'model': 9.0}, True)
    """
    if refusal_of_words(reply, response) is not None:
        return None
    return with_reason(first_line(reply), reply)


def with_reason(ratings: str, reply: str) -> Verdict | None:
    """Return the verdict of two ratings in a reply, which is its reason; None if they are anything else."""
    verdict = pair_in(ratings)
    if verdict is None:
        return None
    return Verdict(verdict.numbers, {"reason": encodable(reply)})


def refusal_of_words(reply: str, response: str = "") -> Refusal | None:
    """Return why a reply to the authors' prompt is not read; None if it is."""
    if HELD.search(guard.plain(response)):
        return guard.HELD
    if pair_in(first_line(reply)) is None:
        return Refusal(NO_PAIR, f"it is {short_repr(first_line(reply), 80)}")
    return None


def first_line(reply: str) -> str:
    return reply.partition("\n")[0]


@dataclass(frozen=True)
class Aspect:
    """Reads what a reply to OPERA's prompt says of one aspect: a line such as "Accuracy: 7 8"."""

    name: str

    def read(self, reply: str, response: str = "") -> Verdict | None:
        if self.refusal(reply) is not None:
            return None
        return with_reason(self.lines(reply)[0], reply)

    def refusal(self, reply: str, response: str = "") -> Refusal | None:
        lines = self.lines(reply)
        if len(lines) != 1:
            return Refusal(NO_ASPECT, f"it has {len(lines)} lines that begin with {self.name.capitalize()}")
        if pair_in(lines[0]) is None:
            return Refusal(NO_ASPECT, f"it is {short_repr(lines[0], 80)}")
        return None

    def lines(self, reply: str) -> list[str]:
        """Return what stands after the aspect's name on each line that begins with it."""
        return re.findall(rf"^[\s*#]*{self.name}[\s*]*:[ *]*(.*?)[ *]*$", reply, re.IGNORECASE | re.MULTILINE)


def read_object(parts: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a reply to our prompt."""
    numbers = {REFERENCE: float(parts["first_rating"]), MODEL: float(parts["second_rating"])}
    return Verdict(numbers, {"reason": encodable(parts["reason"])})


# How many points each answer gains from coming first, where a judge is asked in both orders
REFERENCE_GAIN = "reference_gain"
MODEL_GAIN = "model_gain"


def turned(prompt: VerdictPrompt) -> VerdictPrompt:
    """Return a prompt with the response as the first answer, and GPT-4's as the second."""
    if isinstance(prompt, JsonPrompt):
        read = prompt.verdict
        return replace(
            prompt,
            template=with_answers_turned(prompt.template),
            verdict=lambda parts: with_ratings_turned(read(parts)),
        )
    assert isinstance(prompt, WordPrompt)
    read_reply = prompt.reader

    def reader(reply: str, response: str) -> Verdict | None:
        verdict = read_reply(reply, response)
        return verdict and with_ratings_turned(verdict)

    return replace(prompt, template=with_answers_turned(prompt.template), reader=reader)


def with_answers_turned(template: str) -> str:
    """Exchange the places of both answers.

    >>> with_answers_turned("1: {reference} 2: {answer}")
    '1: {answer} 2: {reference}'
    """
    parts = [part.replace("{answer}", "{reference}") for part in template.split("{reference}")]
    return "{answer}".join(parts)


def with_ratings_turned(verdict: Verdict) -> Verdict:
    """Return a verdict whose first rating was that of the response."""
    numbers = {REFERENCE: verdict.numbers[MODEL], MODEL: verdict.numbers[REFERENCE]}
    return Verdict(numbers, verdict.notes)


def of_both_orders(usual: Verdict | None, turned: Verdict | None) -> Verdict | None:
    """Return the means of both orders' ratings, and what each answer gains from coming first; None without both."""
    if usual is None or turned is None:
        return None
    numbers = {}
    for name in (REFERENCE, MODEL):
        numbers[name] = (usual.numbers[name] + turned.numbers[name]) / 2
    numbers[REFERENCE_GAIN] = usual.numbers[REFERENCE] - turned.numbers[REFERENCE]
    numbers[MODEL_GAIN] = turned.numbers[MODEL] - usual.numbers[MODEL]
    return Verdict(numbers, usual.notes)


def load_rule(path: str | Path) -> str:
    """Read the authors' prompt from their rule.json.

    Raises:
        ValueError: if the file has another prompt, or none.
    """
    file = path_of(path)
    rules = read_json(file)
    prompts = []
    for name in RULES:
        rule = None
        if isinstance(rules, Mapping):
            rule = rules.get(name)
        prompt = None
        if isinstance(rule, Mapping):
            prompt = rule.get("prompt")
        if not isinstance(prompt, str):
            raise ValueError(
                f"{file} has no prompt {name}: it is {short_repr(rule)}; expected LLaVA's rule.json ({RULE_URL})."
            )
        digest = sha256_of_text(prompt)
        if digest != RULE_SHA256:
            raise ValueError(
                f"{file}: the prompt {name} is not the authors': its sha256 is {digest}, expected {RULE_SHA256}. Get "
                f"LLaVA's rule.json ({RULE_URL}), or leave prompts='authors' (--prompts authors) out."
            )
        prompts.append(prompt)
    return prompts[0]


RATING = {"type": "integer", "enum": list(range(LOWEST, HIGHEST + 1))}

# In this project's words
OURS = JsonPrompt(
    "llava_bench-prompt-1",
    beside(__file__, "ours.txt"),
    reply={"reason": {"type": "string"}, "first_rating": RATING, "second_rating": RATING},
    stated_in=("first_rating", "second_rating"),
    verdict=read_object,
)

# Its words are needed to ask it (`with_rule`), not to read replies to it
AUTHORS = PinnedPrompt("authors-2", "", read_words, refusal_of_words, sha256=RULE_SHA256)


def with_rule(path: str | Path) -> WordPrompt:
    """Return the authors' prompt with the words of their rule.json."""
    return replace(AUTHORS, template=FRAME.replace("{rule}", load_rule(path)))


ACCURACY = Aspect("accuracy")
DETAILEDNESS = Aspect("detailedness")

PROMPTS = {  # by the values of the option `prompts`
    "ours": OURS,
    "authors": AUTHORS,
    "opera-accuracy": WordPrompt("opera-accuracy-1", "", ACCURACY.read, ACCURACY.refusal),
    "opera-detailedness": WordPrompt("opera-detailedness-1", "", DETAILEDNESS.read, DETAILEDNESS.refusal),
}


def plain_rating(rating: Any) -> Any:
    """Return a rating by our names: a pair, a line of the authors' review files, or a harness's row may state it too.

    The authors' script writes the pair -1, -1 for a reply that it cannot read.

    >>> plain_rating([7, 9]), plain_rating({"tuple": [-1, -1]}), plain_rating({"content": "7 9"})
    ({'reference': 7, 'model': 9}, {'reference': None, 'model': None}, {'reply': '7 9'})
    >>> plain_rating({"gpt4_score": "7", "score": "9"}), plain_rating({LMMS_EVAL: {"scores": [7, 9]}})
    ({'reference': '7', 'model': '9'}, {'reference': 7, 'model': 9})
    """
    if isinstance(rating, Mapping):
        if isinstance(rating.get(LMMS_EVAL), Mapping):
            return plain_rating(rating[LMMS_EVAL].get("scores"))
        if rating.keys() >= set(VLMEVALKIT):
            return plain_rating([rating[column] for column in VLMEVALKIT])
        if "tuple" in rating:
            return plain_rating(rating["tuple"])
        if "content" in rating:
            return {"reply": rating["content"]}
        return rating
    if not isinstance(rating, list | tuple) or len(rating) != 2:
        return rating
    if [str(part) for part in rating] in (["-1", "-1"], ["-1.0", "-1.0"]):
        return {REFERENCE: None, MODEL: None}
    return {REFERENCE: rating[0], MODEL: rating[1]}
