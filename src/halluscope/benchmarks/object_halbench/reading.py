"""How a judge is asked which objects a response names, and how its reply is read.

The authors' words stand in their script, which is not part of this package: the user names it, and its prompt is known
by its sha256; the script is read, never run. It sends the prompt as a system message; here it is the user's message.
"""

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.files.opening import read_text
from halluscope.judging import guard
from halluscope.judging.prompts import Refusal, sha256_of_text, unfenced
from halluscope.judging.verdict_prompts import JsonPrompt, PinnedPrompt, Verdict, beside, plain
from halluscope.paths import path_of

NAMES = "names"  # the note of a verdict with the names

# A response of so few words names nothing, and no judge is asked
FEW_WORDS = 3

SCRIPT_URL = "https://github.com/RLHF-V/RLAIF-V/blob/main/eval/eval_gpt_obj_halbench.py"
TEMPLATE = "prompt_template"  # the script's name of the prompt
TEMPLATE_SHA256 = (
    "9d732f9b73a3cc965bee6eb163b8e5248e58bd9d382eb583e9ece59933e2b580"  # with "\n" at the ends of lines
)

# The prompt asks for "()" where there is no object
NOTHING = "()"

NO_LIST = Refusal("a reply, or its last line, must be a JSON list of names")

FENCED = re.compile(r"```json\n(.*?)\n```", re.DOTALL)

# How such a list begins, in a response
HOLDS_LIST = re.compile(r"\[\s*[\"\]]|\(\)")


def names_in(reply: str) -> list[str] | None:
    """Return the names in a reply to the authors' prompt; None if it holds no list where their script looks for one.

    The reply is a JSON list, or holds one in a fence for JSON, or its last line is one.

    >>> names_in('["dog", "cup"]'), names_in('They are:\\n["dog"]'), names_in("()"), names_in("dog, cup") is None
    (['dog', 'cup'], ['dog'], [], True)
    """
    text = unfenced(reply).strip()
    parts = FENCED.findall(reply)[:1]
    parts.append(text)
    parts.append(text.rpartition("\n")[2])  # the last line
    for part in parts:
        if part == NOTHING:
            return []
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return value
    return None


def read_words(reply: str, response: str = "") -> Verdict | None:
    """Return the names in a reply to the authors' prompt; None if it cannot be read.

    If the response itself holds such a list, no reply is read: the judge may have copied it.
    """
    names = names_in(reply)
    if names is None or HOLDS_LIST.search(guard.plain(response)):
        return None
    return Verdict({}, {NAMES: plain(names)})


def refusal_of_words(reply: str, response: str = "") -> Refusal | None:
    """Return why a reply to the authors' prompt is not read; None if it is."""
    if HOLDS_LIST.search(guard.plain(response)):
        return guard.HELD
    if names_in(reply) is None:
        return NO_LIST
    return None


def read_object(parts: Mapping[str, Any]) -> Verdict:
    """Return the names in a reply to our prompt."""
    return Verdict({}, {NAMES: plain(parts["objects"])})


def load_template(path: str | Path) -> str:
    """Read the authors' prompt from their script.

    Raises:
        ValueError: if the file has another prompt, or none.
    """
    file = path_of(path)
    template = template_in(read_text(file))
    expected = f"expected {TEMPLATE} of the authors' eval_gpt_obj_halbench.py ({SCRIPT_URL})"
    if template is None:
        raise ValueError(f"{file} holds no {TEMPLATE}; {expected}.")
    digest = sha256_of_text(template)
    if digest != TEMPLATE_SHA256:
        raise ValueError(
            f"{file}: {TEMPLATE} is not the authors' prompt: its sha256 is {digest}, expected {TEMPLATE_SHA256}. Get "
            f"the script ({SCRIPT_URL}), or leave prompts='authors' (--prompts authors) out."
        )
    return template


def template_in(script: str) -> str | None:
    """Return the text that a script assigns to `TEMPLATE`; None if it assigns none."""
    try:
        module = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for statement in module.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            continue
        names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        if TEMPLATE in names and isinstance(statement.value.value, str):
            return statement.value.value
    return None


# In this project's words
OURS = JsonPrompt(
    "object_halbench-prompt-1",
    beside(__file__, "ours.txt"),
    reply={"objects": {"type": "array", "items": {"type": "string"}}},
    stated_in=("objects",),
    verdict=read_object,
)

AUTHORS = PinnedPrompt("authors-1", "", read_words, refusal_of_words, sha256=TEMPLATE_SHA256)

PROMPTS = {"ours": OURS, "authors": AUTHORS}  # by the values of the option `prompts`
