"""Plans a grader's verdicts before it is asked: prompts, tokens, money, and how much the cache saves."""

from typing import Any

from halluscope.judging.cache import Record
from halluscope.judging.cost.model_info import CHARACTERS_A_TOKEN, ModelInfo, look
from halluscope.judging.cost.planning import BY_CHARACTERS, Load, Plan, Prices, check_prices, cost
from halluscope.judging.judge import ChatJudge, KnownJudge, is_greedy
from halluscope.judging.models.engine import Engine
from halluscope.judging.server import ENDPOINT


def foresee(judge: str, device: str | None = None, prices: Prices | None = None) -> ModelInfo | None:
    """Return the outlook on a grader that is a model on this machine; None for one behind an endpoint."""
    check_prices(prices, [judge], "judge")
    return None if judge.startswith(ENDPOINT) else look([judge], Engine(device=device))[0]


def stand_in(judge: str, outlook: ModelInfo | None) -> str | ChatJudge:
    """Return the judge for which prompts are noted: the grader, or only its key if its weights are missing."""
    return KnownJudge(outlook.name, greedy=True) if outlook and outlook.missing else judge


def plan_verdicts(
    record: Record, judge: str, outlook: ModelInfo | None, repeats: int = 1, prices: Prices | None = None
) -> Plan:
    """Plan what a grader will be asked. It is not asked, no weights are loaded, and nothing is written."""
    if record.judge is None:
        raise ValueError(
            "With these options no language model is asked for a verdict; there is nothing to plan."
        )
    _, kept = record.count()
    prompts: list[Any] = [prompt for prompt, *_ in record.missing]
    if is_greedy(record.judge):
        prompts = list(dict.fromkeys(prompts))  # it gets each prompt once
    reader = outlook.reader if outlook else None
    tokens = sum(reader.lengths(prompts)) if reader else sum(map(len, prompts)) / CHARACTERS_A_TOKEN
    said = None if outlook else len(prompts) * record.judge.max_tokens
    known = not (outlook and outlook.missing)
    load = Load(
        outlook.name if outlook else judge,
        kept + len(record.missing),
        kept if known else None,
        tokens,
        said=said,
        money=cost(tokens, said, prices) if prices else None,
        note="; ".join(filter(None, [outlook.missing if outlook else "", "" if reader else BY_CHARACTERS])),
    )
    every = load.questions
    return Plan((load,), "all", every, every, str(record.path), asked="prompts", repeats=repeats)
