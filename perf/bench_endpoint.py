"""Measures the client's CPU time per vote over HTTP, against bare posts of the same bodies.

The server is on loopback, in its own process, and replies "No" with logprobs as fast as it can. The bare posts use the
same library with the same number of concurrent requests, and only read the status. The store is the one of a real run.

    python perf/bench_endpoint.py [--requests 4000] [--at-once 32]
"""

import asyncio
import json
import multiprocessing
import os
import re
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
from halluscope.judging import ask_votes
from halluscope.judging.cache import Cache
from halluscope.judging.endpoint import PATH, EndpointVoter
from halluscope.vocabularies import load
from timing import options, record

ROUNDS = 3
TEXT = "A man in a red jacket stands beside a wooden bench, and a small brown dog looks up at him. " * 5
TOP_LOGPROBS = [
    {"token": "No", "logprob": -0.1},
    {"token": "Yes", "logprob": -2.1},
    {"token": "no", "logprob": -4.1},
    {"token": "There", "logprob": -6.1},
    {"token": "yes", "logprob": -8.1},
]
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "No"},
            "logprobs": {"content": [{"token": "No", "logprob": -0.1, "top_logprobs": TOP_LOGPROBS}]},
        }
    ],
    "usage": {"prompt_tokens": 150, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 128}},
}
BODY = json.dumps(COMPLETION).encode()
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)
CONTENT_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
TEMPLATES = PAPER.about(load("coco"))[:1]


def main() -> None:
    """Start the server, and print the CPU times."""
    arguments = options(__doc__, requests=4000, at_once=32)
    os.environ.pop("OPENAI_API_KEY", None)
    our_end, servers_end = multiprocessing.Pipe()
    spawn = multiprocessing.get_context("spawn")
    process = spawn.Process(target=serve, args=(servers_end,), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{our_end.recv()}/v1"
    try:
        compare(url, arguments.requests, arguments.at_once)
    finally:
        process.kill()


def serve(port_to: Connection) -> None:
    """Serve the same reply to every request, on connections that stay open, and tell the port."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # ignore clients that disconnect
    loop.run_until_complete(serve_forever(port_to))


async def serve_forever(port_to: Connection) -> None:
    server = await asyncio.start_server(reply_to_all, "127.0.0.1", 0)
    _, port = server.sockets[0].getsockname()
    port_to.send(port)
    await server.serve_forever()


async def reply_to_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        length = CONTENT_LENGTH.search(head)
        assert length is not None, head
        await reader.readexactly(int(length[1]))
        writer.write(REPLY)
        await writer.drain()


def compare(url: str, requests: int, at_once: int) -> None:
    """Compare bare posts, votes, and votes that are stored."""
    questions = TEMPLATES[0]
    texts = [f"{TEXT} {number}" for number in range(max(1, requests // len(questions)))]
    count = len(texts) * len(questions)
    voter = EndpointVoter(f"m@{url}")
    bodies = []
    for text in texts:
        bodies += [voter.body(text, question) for question in questions]
    posts = []
    votes = []
    stored = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            path = Path(folder, f"{number}.sqlite")
            posts.append(cpu_seconds(lambda: asyncio.run(post(url, bodies, at_once))))
            votes.append(cpu_seconds(lambda: vote(url, texts, at_once, None)))
            stored.append(cpu_seconds(partial(vote, url, texts, at_once, path)))
    print(f"CPU time of 1,000 requests, median of {ROUNDS} x {count:,}, {at_once} at once")
    bare = 1e3 * median(posts) / count
    record("1,000 votes: CPU time", 1e3 * median(votes) / count, bare, "bare posts")
    record("1,000 votes, stored: CPU time", 1e3 * median(stored) / count, bare, "bare posts")


async def post(url: str, bodies: list[dict[str, Any]], at_once: int) -> None:
    """Post the bodies without reading the replies."""
    waiting = iter(bodies)

    async def work(client: httpx2.AsyncClient) -> None:
        for body in waiting:
            response = await client.post(f"{url}/{PATH}", json=body)
            response.raise_for_status()

    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=at_once), trust_env=False) as client:
        await asyncio.gather(*(work(client) for _ in range(at_once)))


def vote(url: str, texts: list[str], at_once: int, path: Path | None) -> None:
    """Collect votes on each class of each text, with one question template; keep them if a cache is named."""
    cache = None
    if path:
        cache = Cache(path)
    voter = EndpointVoter(f"m@{url}", at_once=at_once)
    present = np.zeros((len(texts), len(TEMPLATES[0])), dtype=bool)
    votes = ask_votes.collect_votes([voter], TEMPLATES, texts, present, k=1, which="all", cache=cache)
    assert not votes.any()


def cpu_seconds(run: Callable[[], Any]) -> float:
    """Return the CPU seconds of this process, all threads, for one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
