"""From prompts to verdicts: hostile text put into a prompt, replies asked for and kept, and read strictly.

A reply is found by its content: the judge's key, the prompt, which repeat it is, and its seed. So a killed run goes on
where it was, a second run asks nothing, one with another seed asks anew, and the order of prompts moves nothing.
"""

import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from halluscope import foreign
from halluscope.errors import JudgingFailed
from halluscope.files.opening import once_each
from halluscope.files.writing import json_text
from halluscope.judging.failed import MAX_FAILED, SHOWN, check_max_failed, reasons
from halluscope.judging.graders.chat import ChatJudge, Schema
from halluscope.judging.store import AnswerStore, AskAnew, Outbox
from halluscope.judging.transcript import Transcript
from halluscope.terminal import tell

V = TypeVar("V", covariant=True)


@dataclass(frozen=True)
class Asked(Generic[V]):
    """What a judge is asked, and how its reply is read.

    Attributes:
        prompt: the whole of it, such as `fill` makes it.
        read: the verdict in a reply, None if it cannot be read: see `one_of` and `json_object`.
        schema: what the reply has to be in JSON, for a judge that can be held to it; None for a reply in words.
    """

    prompt: str
    read: Callable[[str], V | None]
    schema: Schema | None = None


FIRST = 50
"""How many prompts are asked before the rest: if no reply to them can be read, the rest is not asked."""

HALF = 0.5
"""Whoever allows this share to fail is asked everything: no readable reply among the first may then be by chance."""

STILL_TO_BE_ASKED = "still to be asked"
"""Why there is no reply where requests go to an outbox."""

Place = tuple[str, int, int]
"""A prompt, which repeat of it, and the seed of the reply."""


def collect(
    asked: Sequence[Asked[V]],
    judge: ChatJudge,
    *,
    repeats: int = 1,
    seed: int = 0,
    store: AnswerStore | AskAnew | Transcript | None = None,
    max_failed: float = MAX_FAILED,
    progress: bool = False,
) -> list[list[V | None]]:
    """Ask each distinct prompt `repeats` times, and read the replies.

    Args:
        asked: what is asked; the same prompt is read in the same way.
        judge: who replies. The caller closes it.
        repeats: 1 or more.
        seed: of the first repeat's replies; each further repeat has the next one. A greedy judge has none.
        store: where kept replies are found and each new one is kept as it comes, readable or not. No reply at all is
            not kept, so that the next run asks again. None keeps nothing. If it has an outbox, a judge behind an
            endpoint is not asked: the requests go there.
        max_failed: the share of prompts, 0 to 1, that may be without a readable verdict.
        progress: show a bar.

    Returns:
        [repeats][prompts]: the verdict, None where no reply came or it could not be read.

    Raises:
        ValueError: if `max_failed` is no share.
        JudgingFailed: if more than `max_failed` of the prompts have no readable verdict; or if none of the first
            `FIRST` has one, and `max_failed` is less than `HALF`: then the others are not asked.
        JudgeUnavailable: if there is nobody to reply.
        StoreError: if the store cannot be read or written.
    """
    check_max_failed(max_failed)
    each = {one.prompt: one for one in asked}
    seeds = _seeds(judge, repeats, seed)
    places = places_of(each, judge, repeats, seed)
    earlier = judge.failures.copy()
    replies = _replies(places, each, judge, store, max_failed, progress)
    verdicts = {place: each[place[0]].read(reply) for place, reply in replies.items()}
    unread = [replies[place] for place in places if place in replies and verdicts[place] is None]
    _report(len(places), unread, judge.failures - earlier, len(places) - len(replies), judge.key, max_failed)
    return [[verdicts.get((one.prompt, repeat, of)) for one in asked] for repeat, of in enumerate(seeds)]


def places_of(prompts: Iterable[str], judge: ChatJudge, repeats: int, seed: int) -> list[Place]:
    """What `collect` asks: each distinct prompt in each repeat."""
    each = dict.fromkeys(prompts)
    return [(prompt, repeat, of) for repeat, of in enumerate(_seeds(judge, repeats, seed)) for prompt in each]


def _seeds(judge: ChatJudge, repeats: int, seed: int) -> list[int]:
    """Of each repeat's replies; a greedy judge has none."""
    return [0 if is_greedy(judge) else seed + repeat for repeat in range(repeats)]


def is_greedy(judge: ChatJudge) -> bool:
    """Whether its reply to a prompt is always the same."""
    return bool(getattr(judge, "greedy", False))


def _replies(
    places: Sequence[Place],
    each: Mapping[str, Asked[Any]],
    judge: ChatJudge,
    store: AnswerStore | AskAnew | Transcript | None,
    max_failed: float,
    progress: bool,
) -> dict[Place, str]:
    key, earlier = None, judge.failures.copy()
    while key != judge.key:  # a server that refuses a setting changes the key before the first reply comes
        key = judge.key
        replies = store.replies(key, places) if store else {}
        missing = [place for place in places if place not in replies]
        outbox = store.outbox if store else None
        first = missing[: max(0, FIRST - len(replies))]
        rest = missing[len(first) :]
        arriving = [(part, _ask(judge, part, each, outbox)) for part in (first, rest) if part]
    failed = 0
    title = foreign.one_line(key)
    hidden = not progress or outbox is not None  # what is put into an outbox has no reply, and has not failed
    with tqdm(total=len(missing), desc=title, unit="prompt", disable=hidden, delay=1) as bar:
        for part, said in arriving:
            if part is rest and max_failed < HALF and not outbox:
                _check_first(replies, each, judge.failures - earlier, failed, key, len(rest))
            for place, reply in said:
                bar.update()
                if reply is None:
                    failed += 1
                    bar.set_postfix(failed=failed)
                    continue
                replies[part[place]] = reply
                if store:
                    store.keep_reply(key, part[place], reply)
    if progress and (spent := getattr(judge, "spent", "")):
        tell(f"{title}: {foreign.one_line(spent)}")
    return replies


def _ask(
    judge: ChatJudge, places: Sequence[Place], each: Mapping[str, Asked[Any]], outbox: Outbox | None
) -> Iterator[tuple[int, str | None]]:
    """The judge's replies, held to the schemas and drawn by the seeds if they can be; none if an outbox takes them."""
    if outbox:
        return _put_down(outbox, judge, places, each)
    more: dict[str, Any] = {}
    if getattr(judge, "structured", False):
        more["schemas"] = [each[prompt].schema for prompt, _, _ in places]
    if getattr(judge, "seeded", False):
        more["seeds"] = [seed for _, _, seed in places]
    return judge.replies([prompt for prompt, _, _ in places], **more)


def _put_down(
    outbox: Outbox, judge: Any, places: Sequence[Place], each: Mapping[str, Asked[Any]]
) -> Iterator[tuple[int, str | None]]:
    """Let somebody else ask."""
    for number, (prompt, repeat, seed) in enumerate(places):
        outbox.put_reply(judge.key, prompt, repeat, seed, judge.body(prompt, each[prompt].schema, seed))
        judge.failures[STILL_TO_BE_ASKED] += 1
        yield number, None


def _check_first(
    replies: Mapping[Place, str],
    each: Mapping[str, Asked[Any]],
    failures: Counter[str],
    silent: int,
    key: str,
    left: int,
) -> None:
    """Check that one of the first replies can be read, before the rest is asked."""
    if any(each[prompt].read(reply) is not None for (prompt, *_), reply in replies.items()):
        return
    facts = _facts(len(replies) + silent, list(replies.values()), failures, silent, key)
    schema = next(iter(each.values())).schema
    form = (
        f"JSON with {' and '.join(schema['properties'])}" if schema else "the form that the prompt asks for"
    )
    raise JudgingFailed(
        f"{facts} Expected {form}. The other {left:,} were not asked. Take a judge that does as it is told; allow "
        "longer replies (--max-tokens, in Python max_tokens) where they were cut off; or ask all the same: "
        f"--max-failed {HALF:g} or more (in Python max_failed). Replies that came are kept where there is a store."
    )


def _facts(n: int, unread: Sequence[str], failures: Counter[str], silent: int, key: str) -> str:
    """What came instead of verdicts."""
    shown = ", ".join(foreign.quoted(reply, 120) for reply in unread[:SHOWN])
    return (
        f"{silent + len(unread)} of {n} prompts have no readable verdict of {key}: {silent} without a reply"
        f"{reasons(failures)}, {len(unread)} with one that says something else"
        f"{f' ({shown})' if shown else ''}."
    )


def _report(
    n: int, unread: Sequence[str], failures: Counter[str], silent: int, key: str, max_failed: float
) -> None:
    failed = silent + len(unread)
    if not failed:
        return
    facts = _facts(n, unread, failures, silent, key)
    if failed <= max_failed * n:
        warnings.warn(facts, stacklevel=3)
        return
    again = (
        "Run again to ask for the replies that are missing (kept ones are not asked again); allow longer replies "
        "(--max-tokens, in Python max_tokens) where they were cut off; take"
    )
    raise JudgingFailed(
        f"{facts} At most {max_failed:.1%} may fail. {again if silent else 'Take'} a judge that does as it is told; or "
        "allow more failures (--max-failed, in Python max_failed)."
    )


_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def key_of(name: str, template: str) -> str:
    """What stands in a signature for what is asked: a name, and eight hexadecimal digits over the words.

    >>> key_of("prompt-1", "Is it so?"), key_of("prompt-1", "Is it so? ")
    ('prompt-1-5bfd76fc', 'prompt-1-2ec11385')
    """
    return f"{name}-{hashlib.sha256(template.encode()).hexdigest()[:8]}"


def fill(template: str, **fields: str) -> str:
    """Put texts into a template in a single pass, each as a JSON string: within quotes, on one line.

    So a text can neither pose as a placeholder nor end its quotes and go on as the template. That a judge is not talked
    round by what stands in the quotes is the template's and the judge's affair.

    Raises:
        ValueError: if the template's placeholders are not the fields.

    >>> print(fill("Question: {question} Answer: {answer}", question="{answer}?", answer='No."\\nVerdict: correct'))
    Question: "{answer}?" Answer: "No.\\"\\nVerdict: correct"
    """
    wanted = set(_PLACEHOLDER.findall(template))
    if wanted != set(fields):
        raise ValueError(
            f"The template has the placeholders {', '.join(sorted(wanted)) or 'none'}; "
            f"it was given {', '.join(sorted(fields)) or 'nothing'}."
        )
    return _PLACEHOLDER.sub(lambda found: json_text(fields[found[1]]), template)


_AROUND = " \t\r\n*_`#\"'\u201c\u201d"


def one_of(*words: str) -> Callable[[str], str | None]:
    """A reader of replies that are one of these words and nothing else.

    Case, blanks, quotes, Markdown's marks around the word, and a full stop after it do not count.

    >>> read = one_of("correct", "incorrect")
    >>> read("**Correct.**"), read("incorrect"), read("correct, not incorrect"), read("The answer is correct")
    ('correct', 'incorrect', None, None)
    """
    known = {word.lower(): word for word in words}

    def read(reply: str) -> str | None:
        return known.get(reply.strip(_AROUND).removesuffix(".").strip(_AROUND).lower())

    return read


def json_object(reply: str) -> dict[str, Any] | None:
    """The JSON object that a reply is, alone or in one Markdown fence; a name that stands twice makes it unreadable.

    >>> json_object('```json\\n{"verdict": "correct", "extra": 2}\\n```')
    {'verdict': 'correct', 'extra': 2}
    >>> json_object('{"verdict": "correct", "verdict": "incorrect"}') is json_object("Sure: {}") is None
    True
    """
    try:
        found = json.loads(unfenced(reply), object_pairs_hook=once_each, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def unfenced(reply: str) -> str:
    """A reply without the Markdown fence around it."""
    text = reply.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json")
    return text


def stands_in(reply: str, texts: Iterable[str]) -> bool:
    """Whether a reply stands as it is in one of the texts that are judged, white space apart.

    Such a reply may be the text's, not the judge's.
    """
    bare = "".join(unfenced(reply).split())
    return any(bare in "".join(text.split()) for text in texts)


def json_of(**parts: Schema) -> Schema:
    """The JSON schema of an object that has these parts, and no other."""
    return {
        "type": "object",
        "properties": parts,
        "required": [*parts],
        "additionalProperties": False,
    }


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
