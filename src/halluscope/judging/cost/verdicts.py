"""Plans a grader's verdicts before it is asked: prompts, tokens, money, and how much the store saves."""

from collections.abc import Sequence

from halluscope.judging.cost.outlook import CHARACTERS_A_TOKEN, Outlook, look
from halluscope.judging.cost.planning import BY_CHARACTERS, Load, Plan, Prices, check_prices, cost
from halluscope.judging.graders.chat import ChatJudge
from halluscope.judging.graders.ledger import Ledger
from halluscope.judging.graders.verdicts import Place, is_greedy
from halluscope.judging.models.engine import Engine
from halluscope.judging.server import ENDPOINT
from halluscope.judging.store import ReadOnlyStore
from halluscope.judging.transcript import Absent


def foresee(judge: str, device: str | None = None, prices: Prices | None = None) -> Outlook | None:
    """Return the outlook on a grader that is a model on this machine; None for one behind an endpoint.

    Args:
        judge: the grader's name.
        device: where it is to run.
        prices: the prices of its tokens.

    Raises:
        JudgeUnavailable: if its files are not those of a judge.
        ValueError: for malformed prices, or prices for a model on this machine.
    """
    check_prices(prices, [judge], "judge")
    return None if judge.startswith(ENDPOINT) else look([judge], Engine(device=device))[0]


def stand_in(judge: str, outlook: Outlook | None) -> str | ChatJudge:
    """Return the judge for which prompts are noted: the grader, or a stand-in if its weights are missing."""
    return Absent(outlook.name, greedy=True) if outlook and outlook.missing else judge


def plan_verdicts(
    ledger: Ledger, judge: str, outlook: Outlook | None, fresh: bool = False, prices: Prices | None = None
) -> Plan:
    """Plan what a grader will be asked. It is not asked, no weights are loaded, and nothing is written.

    Args:
        ledger: the prompts that were noted.
        judge: the grader's name.
        outlook: the outlook that `foresee` returned.
        fresh: whether kept replies are asked for again.
        prices: the prices of a million tokens that a model behind an endpoint reads, and of a million that it
            generates.

    Raises:
        ValueError: if there was nothing to ask.
        StoreError: if the store cannot be read.
    """
    if ledger.judge is None:
        raise ValueError(
            "With these options no language model is asked for a verdict; there is nothing to plan."
        )
    store = ReadOnlyStore(ledger.path)
    kept = {} if fresh else store.replies(ledger.judge.key, list(ledger.places))
    store.close()
    prompts = _prompts([place for place in ledger.places if place not in kept], ledger.judge)
    reader = outlook.reader if outlook else None
    tokens = sum(reader.lengths(prompts)) if reader else sum(map(len, prompts)) / CHARACTERS_A_TOKEN
    said = None if outlook else len(prompts) * ledger.max_tokens
    known = not (outlook and outlook.missing)
    load = Load(
        outlook.name if outlook else judge,
        len(ledger.places),
        len(kept) if known else None,
        tokens,
        said=said,
        money=cost(tokens, said, prices) if prices else None,
        note="; ".join(filter(None, [outlook.missing if outlook else "", "" if reader else BY_CHARACTERS])),
    )
    every = load.questions
    return Plan((load,), "all", every, every, str(store.path), asked="prompts", repeats=ledger.repeats)


def _prompts(places: Sequence[Place], judge: ChatJudge) -> list[str]:
    """Return the prompts that are sent; a greedy judge gets each prompt once."""
    prompts = [prompt for prompt, *_ in places]
    return list(dict.fromkeys(prompts)) if is_greedy(judge) else prompts
