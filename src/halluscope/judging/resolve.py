"""Finds the judges that a user names, and checks them before any of them is loaded or asked."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from halluscope.errors import JudgeUnavailable
from halluscope.files.opening import json_rows
from halluscope.judging.client import ENDPOINT, Server
from halluscope.judging.endpoint import EndpointJudge, EndpointVoter
from halluscope.judging.judge import AT_ONCE, MAX_TOKENS, Answered, ChatJudge, Judge, Pairs
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import (
    CHECKER,
    FLAN_T5,
    CausalJudge,
    Seq2SeqJudge,
    local_judge,
)
from halluscope.judging.questions import Question, QuestionSet
from halluscope.judging.votes import RULES
from halluscope.paths import is_there, path_of
from halluscope.sanitize import short_repr
from halluscope.vocabularies import Vocabulary

LEXICAL = "lexical"
REPLAY = "replay:"  # The prefix for a file of votes given elsewhere

ENSEMBLES = {"flan-t5": FLAN_T5}  # Names that stand for several judges

Voter = str | Judge  # A judge who votes, by its name or itself


def voter(
    name: str,
    *,
    device: str | None,
    workers: int,
    **http: Any,
) -> Judge:
    """Return the language model of this name as a voter, not loaded or asked yet; see `VoteOptions.how`."""
    if name.startswith(ENDPOINT):
        return EndpointVoter(name.removeprefix(ENDPOINT), **http)
    return local_judge(name, device, workers)


class ReplayJudge:
    """A judge that repeats given replies, by text and question."""

    stored = False

    def __init__(self, replies: Mapping[tuple[str, str], str]) -> None:
        self._replies = replies
        content = json.dumps(sorted([*pair, reply] for pair, reply in replies.items()))
        self.key = f"replay-{hashlib.sha256(content.encode()).hexdigest()[:8]}"

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Repeat the reply given to each pair."""
        codes = []
        for i, j in pairs.tolist():
            text, question = texts[i], questions[j].text
            if (text, question) not in self._replies:
                raise ValueError(
                    f"No reply was given to the question {short_repr(question)} about the text {short_repr(text)}; "
                    "expected a reply for each. Collect this one too."
                )
            codes.append(RULES["whole"](self._replies[text, question], True))
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None: ...


def _replayed(path: Path) -> ReplayJudge:
    """Read replies from JSON lines, or a JSON list (.gz too), with the fields `text`, `question` and `answer`."""
    replies: dict[tuple[str, str], str] = {}
    for where, row in json_rows(path):
        fields = [row.get(name) for name in ("text", "question", "answer")] if isinstance(row, dict) else ()
        if not fields or not all(isinstance(one, str) for one in fields):
            raise ValueError(
                f"{where}: expected a JSON object with text, question and answer, all of them texts; got "
                f"{short_repr(row)}."
            )
        text, question, reply = map(str, fields)
        if replies.setdefault((text, question), reply) != reply:
            raise ValueError(
                f"{where}: an earlier line has another answer to the same question, {short_repr(question)}; "
                "expected one answer. Remove one of them."
            )
    return ReplayJudge(replies)


def is_served(judge: object) -> bool:
    """Whether `judge` is the name of a model behind a server."""
    return isinstance(judge, str) and judge.startswith(ENDPOINT)


def resolve(judges: Sequence[Voter], vocabulary: Vocabulary, **how: Any) -> list[Judge]:
    """Return the voters of these names, in their order; `how` is for `voter`."""
    for is_set, what, fits in (
        (
            how["workers"],
            "workers is for language models on this machine",
            _is_local,
        ),
        (
            how["at_once"] != AT_ONCE,
            f"at_once is for judges behind an endpoint ('{ENDPOINT}MODEL[@URL]')",
            is_served,
        ),
    ):
        if is_set and not any(map(fits, judges)):
            raise ValueError(f"{what}, but judges names only {', '.join(map(repr, judges)):.200}.")
    found: list[Judge] = []
    for judge in judges:
        if not isinstance(judge, str):
            found.append(judge)
        else:
            found.append(LexicalJudge(vocabulary) if judge == LEXICAL else voter(judge, **how))
    check_once([judge.key for judge in found])
    return found


def check_once(keys: Sequence[str]) -> None:
    """Check that no judge votes twice."""
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise ValueError(f"judges names {', '.join(twice)} more than once; each judge votes once.")


def named(judges: Voter | Sequence[Voter]) -> list[Voter]:
    """Return the voters that the user means, each by its own name; nothing is fetched yet."""
    meant: list[Voter] = []
    for judge in judges if isinstance(judges, list | tuple) else [cast("Voter", judges)]:
        if not isinstance(judge, str):
            _check_judge(judge)
            meant.append(judge)
        elif judge.startswith(REPLAY):
            meant.append(_replayed(path_of(judge.removeprefix(REPLAY))))
        else:
            meant += ENSEMBLES.get(judge, [judge])
            _check_name(meant[-1])
    if not meant:
        raise ValueError("judges is empty; expected 'flan-t5', 'lexical', or a list of models.")
    return meant


def _check_judge(judge: object) -> None:
    key, stored = getattr(judge, "key", None), getattr(judge, "stored", None)
    called = all(callable(getattr(judge, name, None)) for name in ("answer", "close"))
    if not isinstance(key, str) or not isinstance(stored, bool) or not called:
        raise JudgeUnavailable(
            f"judges: {short_repr(judge)} is not a judge; expected a name, a model, or an object with key, stored, "
            "answer and close, as in `halluscope.judging.judge.Judge`."
        )


def _check_name(judge: Any) -> None:
    if is_served(judge):
        Server.named(judge.removeprefix(ENDPOINT))
    elif judge != LEXICAL:
        weights.check_name(judge.removeprefix(CHECKER))


def lexical(judges: Sequence[Voter], vocabulary: Vocabulary) -> LexicalJudge:
    """Return the lexical judge among the judges that the user means."""
    for judge in judges:
        if judge == LEXICAL or isinstance(judge, LexicalJudge):
            return judge if isinstance(judge, LexicalJudge) else LexicalJudge(vocabulary)
    raise ValueError(
        f"explain says which rule of the lexical judge took a mention back, but judges names {short_repr(judges)}; "
        "expected judges='lexical', alone or among others."
    )


def find(judges: Voter | Sequence[Voter]) -> None:
    """Find the weights of the language models that the user means, without loading any."""
    for judge in filter(_is_local, named(judges)):
        weights.find(str(judge).removeprefix(CHECKER))


def check_asked(judges: Sequence[Voter], questions: QuestionSet) -> None:
    """Check that checkers get claims, and other language models questions, before any judge is looked for."""
    # The lexical judge and given votes are read by class and by text, so they work with both. So does a judge
    # of the user's own, unless its attribute `claims` says which of the two it accepts
    for judge in judges:
        takes = getattr(judge, "claims", None) if not isinstance(judge, str) else judge.startswith(CHECKER)
        if judge == LEXICAL or takes is None or takes == questions.claims:
            continue
        name = judge if isinstance(judge, str) else judge.key
        raise ValueError(
            f"judges names the checker {short_repr(name)}, which reads claims, but questions is {questions.name!r}; "
            "expected questions='claims'. A judge that answers questions cannot vote in the same poll."
            if takes
            else f"judges names {short_repr(name)}, which answers questions, but questions is {questions.name!r}, a "
            f"set of claims for a checker; expected '{CHECKER}MODEL', or other questions."
        )


def resolve_chat(
    judge: str | ChatJudge, *, device: str | None = None, max_tokens: int = MAX_TOKENS, **endpoint: Any
) -> ChatJudge:
    """Return the judge of free text that the user means, without loading or asking it yet.

    The further arguments are those of `EndpointJudge`, of which `structured` is here true by default; a local model
    ignores them, and decodes greedily.
    """
    if not isinstance(judge, str):
        if not hasattr(judge, "replies") or not hasattr(judge, "key"):
            raise JudgeUnavailable(
                f"judge: {short_repr(judge)} is not a judge of free text; expected 'openai:MODEL[@URL]', a local "
                "model, or a chat judge."
            )
        return judge
    if judge.startswith(ENDPOINT):
        model = judge.removeprefix(ENDPOINT)
        return EndpointJudge(model, max_tokens=max_tokens, **{"structured": True, **endpoint})
    check_chat_name(judge)
    return LocalChat(judge, max_tokens, device)


def check_chat_name(judge: str | ChatJudge, rules: Collection[str] = ()) -> None:
    """Check the name of a judge of free text: a plain word is no model, unless a folder or file has that name."""
    if not isinstance(judge, str) or judge.startswith(ENDPOINT):
        return
    if "/" in judge or "\\" in judge or is_there(judge):
        return
    known = rules and f"These judges need no model: {', '.join(map(repr, rules))}."
    raise JudgeUnavailable(
        f"There is no judge {short_repr(judge)} that reads free text; expected 'openai:MODEL[@URL]', or a local "
        f"model: a folder, a .gguf file, or a Hub id (org/name). "
        f"{known or '`halluscope list NAME` says which rules the benchmark NAME knows.'}"
    )


class LocalChat:
    """A model on this machine that replies to whole prompts, with greedy decoding."""

    def __init__(self, model: str, max_tokens: int = MAX_TOKENS, device: str | None = None) -> None:
        found = weights.find(model)
        self._model = (Seq2SeqJudge if found.is_encoder_decoder else CausalJudge)(found, device)
        self._max_tokens = max_tokens
        precision = str(self._model.dtype).removeprefix("torch.")
        self.key = f"{found.key}:{precision}:temperature=0:max_tokens={max_tokens}"
        self.failures: Counter[str] = Counter()

    greedy = True

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Reply to each prompt, the shortest first."""
        for index, reply in self._model.replies(prompts, self._max_tokens):
            if reply is None:
                self.failures[f"longer than {self._max_tokens} tokens, or no room for as many"] += 1
            yield index, reply

    def close(self) -> None:
        """Free the model's memory."""
        self._model.close()


def _is_local(judge: Voter) -> bool:
    """Whether a judge is the name of a language model on this machine."""
    return isinstance(judge, str) and judge != LEXICAL and not is_served(judge)
