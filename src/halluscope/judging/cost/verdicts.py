"""What a grader's verdicts will take, before it is asked: prompts, tokens, money, and what the store spares."""

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
    """What can be said of a grader that is a model of this machine; None of one behind an endpoint.

    Args:
        judge: its name.
        device: where it is to run.
        prices: what its tokens are to cost.

    Raises:
        JudgeUnavailable: if its files are not those of a judge.
        ValueError: for prices that are none, or of a model of this machine.
    """
    check_prices(prices, [judge], "judge")
    return None if judge.startswith(ENDPOINT) else look([judge], Engine(device=device))[0]


def stand_in(judge: str, outlook: Outlook | None) -> str | ChatJudge:
    """Who is to note what is asked: the judge, or somebody without weights where it has none yet."""
    return Absent(outlook.name, greedy=True) if outlook and outlook.missing else judge


def plan_verdicts(
    ledger: Ledger, judge: str, outlook: Outlook | None, fresh: bool = False, prices: Prices | None = None
) -> Plan:
    """Plan what a grader will be asked. It is not asked, no weights are loaded, and nothing is written.

    Args:
        ledger: the prompts that were noted.
        judge: its name.
        outlook: as `foresee` has it.
        fresh: whether what is kept is asked again.
        prices: of a million tokens that a model behind an endpoint reads, and of a million that it says.

    Raises:
        ValueError: if nothing was to be asked.
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
    """The prompts that are sent; one whose reply is always the same is sent once."""
    prompts = [prompt for prompt, *_ in places]
    return list(dict.fromkeys(prompts)) if is_greedy(judge) else prompts
