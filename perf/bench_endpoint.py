"""Measures the client's CPU time per vote over HTTP, against bare posts of the same bodies.

The server is on loopback, in its own process, and replies "No" with logprobs as fast as it can. The bare posts use the
same library with the same number of concurrent requests, and only read the status. The store is the one of a real run.

    python perf/bench_endpoint.py [--requests 4000] [--at-once 32]
"""

import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import numpy as np

from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging import ask_votes as asking
from halluscope.judging.cache import Cache
from halluscope.judging.endpoint import PATH, EndpointVoter
from halluscope.vocabularies import load
from timing import options, record

ROUNDS = 3
TEXT = "A man in a red jacket stands beside a wooden bench, and a small brown dog looks up at him. " * 5
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "No"},
            "logprobs": {
                "content": [
                    {
                        "token": "No",
                        "logprob": -0.1,
                        "top_logprobs": [
                            {"token": token, "logprob": -0.1 - 2.0 * i}
                            for i, token in enumerate(("No", "Yes", "no", "There", "yes"))
                        ],
                    }
                ]
            },
        }
    ],
    "usage": {"prompt_tokens": 150, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 128}},
}


def serve(told: Connection) -> None:
    """Serve the same reply to every request, on connections that stay open."""
    body = json.dumps(COMPLETION).encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body,
    )

    async def each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            writer.write(reply)
            await writer.drain()

    async def main() -> None:
        server = await asyncio.start_server(each, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # ignore clients that disconnect
    loop.run_until_complete(main())


async def post(url: str, bodies: list[dict[str, Any]], at_once: int) -> None:
    """Post the bodies without reading the replies."""
    waiting = iter(bodies)

    async def work(client: httpx2.AsyncClient) -> None:
        for body in waiting:
            (await client.post(f"{url}/{PATH}", json=body)).raise_for_status()

    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=at_once), trust_env=False) as client:
        await asyncio.gather(*(work(client) for _ in range(at_once)))


def vote(url: str, texts: list[str], at_once: int, store: Path | None) -> None:
    """Collect votes on each class of each text, with one question template; keep them if there is a cache."""
    voter = EndpointVoter(f"m@{url}", at_once=at_once)
    about = PAPER.about(load("coco"))[:1]
    present = np.zeros((len(texts), len(about[0])), dtype=bool)
    kept = Cache(store) if store else None
    votes = asking.collect_votes([voter], about, texts, present, 1, "all", kept)
    assert not votes.any()


def cpu(run: Callable[[], Any]) -> float:
    """Return the CPU seconds of this process, all threads, for one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Start the server, and print the CPU times."""
    given = options(__doc__, requests=4000, at_once=32)
    os.environ.pop("OPENAI_API_KEY", None)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    try:
        compare(url, given.requests, given.at_once)
    finally:
        process.kill()


def compare(url: str, requests: int, at_once: int) -> None:
    """Compare bare posts, votes, and votes that are stored."""
    about = PAPER.about(load("coco"))[0]
    texts = [f"{TEXT} {i}" for i in range(max(1, requests // len(about)))]
    n = len(texts) * len(about)
    voter = EndpointVoter(f"m@{url}")
    bodies = [voter.body(text, question) for text in texts for question in about]
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "bare posts": lambda i: asyncio.run(post(url, bodies, at_once)),
            "votes": lambda i: vote(url, texts, at_once, None),
            "votes, stored": lambda i: vote(url, texts, at_once, Path(folder) / f"{i}.sqlite"),
        }
        took = {name: [cpu(partial(way, i)) / n for i in range(ROUNDS)] for name, way in ways.items()}
    bare = median(took.pop("bare posts"))
    print(f"CPU time of 1,000 requests, median of {ROUNDS} x {n:,}, {at_once} at once")
    for name, seconds in took.items():
        record(f"1,000 {name}: CPU time", 1e3 * median(seconds), 1e3 * bare, "bare posts")


if __name__ == "__main__":
    main()
