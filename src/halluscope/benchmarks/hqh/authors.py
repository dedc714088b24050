"""The authors' prompt, and how their script reads a judge's reply.

Their words stand in utils.py of their repository, which states no licence and is not part of this package: the user
names a copy, which is known by its digest and read as data. Their evaluate.py also sends a system message, which is not
sent here, and asks again until it can read a reply.

"official" reads a reply as evaluate.py does: of the lines that hold "Answer:", the last one with "Incorrect" or
"Correct" says whether the answer is right, and the last "Extra Contradictory Claims: N" has the number. So it takes
"Answer: Correct / Incorrect" for incorrect, and misses "**Extra Contradictory Claims:** 2". "strict" reads one line of
each kind, with or without marks around its words.
"""

import ast
import re
from pathlib import Path

from halluscope.files.opening import read_text
from halluscope.judging import guard
from halluscope.judging.prompts import ANOTHER_NUMBER, Refusal, sha256_of_text
from halluscope.judging.verdict_prompts import PinnedPrompt, Verdict
from halluscope.paths import path_of
from halluscope.sanitize import encodable, short_repr

URL = "https://github.com/HQHBench/HQHBench/blob/main/utils.py"
SHA256 = (
    "9c477587942c5f25c875b814f65802c316a218f1fddf66c7f4899ec026869494"  # with a line feed at each line's end
)

# What stands in the places of the authors' prompt, in its order
PLACES = ("question", "reference", "caption", "details", "answer")

MOST_DIGITS = 6  # more extra claims are a mistake

MARKS = r"[ \t*_`#>\[\]\"-]*"
ANSWER = re.compile(rf"^{MARKS}Answer{MARKS}:{MARKS}(.*)$", re.IGNORECASE | re.MULTILINE)
VERDICT = re.compile(
    r"(correct|incorrect)\b(?!\W*(?:/|->|\u2192|\bor\b|\bthen\b)\W*(?:in)?correct)", re.IGNORECASE
)
CLAIMS = re.compile(rf"^{MARKS}Extra Contradictory Claims{MARKS}:{MARKS}(.*)$", re.IGNORECASE | re.MULTILINE)
# What follows digits that are not a number by themselves: 2.5, 1-2, 3 or 4
GOES_ON = rf"\d|[.,]\d|\s*{ANOTHER_NUMBER}"
NUMBER = re.compile(rf"(\d{{1,{MOST_DIGITS}}})(?!{GOES_ON})(.*)")

OFFICIAL_CLAIMS = re.compile(r"Extra Contradictory Claims: ?(\d+)(.*)")

# A verdict in a response
HOLDS_VERDICT = re.compile(r"\banswer\b[^\w\n]*:[^\w\n]*(?:in)?correct\b|\bextra contradictory claims\b")

NO_ANSWER = "a reply must have one line such as 'Answer: Correct' or 'Answer: Incorrect'"
NO_CLAIMS = "a reply must have one line such as 'Extra Contradictory Claims: 0'"


def refusal_of_words(reply: str, response: str = "") -> Refusal | None:
    """Return why a reply is not read strictly; None if it is."""
    if HOLDS_VERDICT.search(guard.plain(response)):
        return guard.HELD
    answers = ANSWER.findall(reply)
    if len(answers) != 1:
        return Refusal(NO_ANSWER, f"it has {len(answers)} such lines")
    if VERDICT.match(answers[0]) is None:
        return Refusal(NO_ANSWER, f"the answer is {short_repr(answers[0], 80)}")
    claims = CLAIMS.findall(reply)
    if len(claims) != 1:
        return Refusal(NO_CLAIMS, f"it has {len(claims)} such lines")
    if NUMBER.match(claims[0]) is None:
        return Refusal(NO_CLAIMS, f"the number is {short_repr(claims[0], 80)}")
    return None


def read_words(reply: str, response: str = "") -> Verdict | None:
    """Return the verdict of a reply, None unless it says once whether the answer is right, and once how many claims.

    If the response itself holds a verdict, no reply is read: the judge may have copied it.

    >>> read_words("**Answer:** Correct\\nExtra Contradictory Claims: [1], the dog").numbers
    {'correct': 1.0, 'extra_claims': 1.0}
    >>> read_words("Answer: Correct / Incorrect\\nExtra Contradictory Claims: 0") is None
    True
    """
    if refusal_of_words(reply, response) is not None:
        return None
    answer = VERDICT.match(ANSWER.findall(reply)[0])
    number = NUMBER.match(CLAIMS.findall(reply)[0])
    assert answer is not None and number is not None  # such a reply is refused above
    return verdict_of(answer[1].lower() == "correct", int(number[1]), number[2])


def read_officially(reply: str, response: str = "") -> Verdict | None:
    """Return the verdict of a reply as the authors' script reads it; None where the script would ask again.

    >>> read_officially("Answer: Correct / Incorrect\\nExtra Contradictory Claims: 0").numbers
    {'correct': 0.0, 'extra_claims': 0.0}
    """
    is_correct = None
    claims = None
    evidence = ""
    for line in reply.split("\n"):
        if "Answer:" in line:
            if "Incorrect" in line:
                is_correct = False
            elif "Correct" in line:
                is_correct = True
        match = OFFICIAL_CLAIMS.search(line)
        if match and len(match[1]) <= MOST_DIGITS:
            claims = int(match[1])
            evidence = match[2]
    if is_correct is None or claims is None:
        return None
    return verdict_of(is_correct, claims, evidence)


def verdict_of(is_correct: bool, claims: int, evidence: str) -> Verdict:
    """Return a verdict with what the judge says of the claims, in one text."""
    said = encodable(evidence.lstrip(" \t,\uff0c;.*]").rstrip())
    numbers = {"correct": float(is_correct), "extra_claims": float(claims)}
    return Verdict(numbers, {"evidence": [said] if claims and said else [], "dropped": 0})


def load_template(path: str | Path) -> str:
    """Read the authors' prompt from their utils.py, with names in its places; nothing in the file is run.

    Raises:
        ValueError: if it is another file.
    """
    file = path_of(path)
    text = read_text(file).replace("\r\n", "\n")
    digest = sha256_of_text(text)
    if digest != SHA256:
        raise ValueError(
            f"{file} is not HQH's utils.py: the sha256 of its text is {digest}, expected {SHA256}. Get utils.py from "
            f"the authors' repository ({URL}), or leave prompts='authors' (--prompts authors) out."
        )
    template = str(ast.literal_eval(text.partition("=")[2].strip()))
    for place in PLACES:
        template = template.replace("{}", f"{{{place}}}", 1)
    return template


STRICT = PinnedPrompt("hqh-authors-strict-1", "", read_words, refusal_of_words, sha256=SHA256)
OFFICIAL = PinnedPrompt("hqh-authors-official-1", "", read_officially, refusal_of_words, sha256=SHA256)
