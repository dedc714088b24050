"""Sends requests to a server over HTTP: many at once, each with a time limit, no redirects, no leak of the access key.

Each request ends in the value of the server's reply or in a `Failure`. No error of the HTTP library leaves this module,
because such an error holds the request, and so the access key. What the server says is shown only through
`sanitize.quoted`.
"""

import json
import logging
import math
import random
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from halluscope import limits, sanitize
from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.inputs import finite, whole
from halluscope.judging.server import CONSENT, Server

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from httpx2 import AsyncClient, Response

AT_ONCE = 32  # How many requests may be under way unless the user says otherwise

# The server counts as down once it has failed to serve this many requests in a row. Failures that may pass
# are retried first.
DOWN_AFTER = 8

# The wait before the second attempt, and the longest wait, in seconds; each wait is twice the one before
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0

_PACKED = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB = 47  # zlib's window bits for either
_LOGS = (
    "httpx2",
    *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
)


@dataclass(frozen=True)
class Failure:
    """Why there was no reply."""

    reason: str  # a short text, by which failures are counted
    status: int = 0  # the HTTP status; 0 if nothing came back
    # the server's message as it came: to be searched, never to be shown
    words: str = field(default="", repr=False)
    wait: float = 0.0  # seconds that the server asks to wait; 0 if it asks for no wait
    late: bool = False  # whether the server took too long

    @property
    def said(self) -> str:
        """The server's message, made safe to show."""
        return sanitize.quoted(self.words)

    @property
    def passing(self) -> bool:
        """Whether another attempt is worthwhile."""
        return self.status in (0, 408, 409, 429) or self.status >= 500

    @property
    def overloaded(self) -> bool:
        """Whether the server has too much to do."""
        return self.late or self.status in (429, 503)

    @property
    def elsewhere(self) -> bool:
        """Whether the server points to another address."""
        return 300 <= self.status < 400

    @property
    def served(self) -> bool:
        """Whether the server handled this request."""
        return not self.passing and not self.elsewhere

    @property
    def final(self) -> bool:
        """Whether every other request would fail in the same way."""
        return self.status in (401, 403, 404)


class AdaptiveConcurrency:
    """Limits the requests under way: halves their number when the server is overloaded, then slowly raises it again."""

    # After each round of replies (as many as the limit allows requests), the limit grows by one. Attempts
    # that began before the last halving do not halve it again, because they report the same overload.

    def __init__(self, most: int) -> None:
        self._most, self._allowed, self._slowed = most, float(most), -math.inf

    @property
    def allowed(self) -> int:
        """How many requests may be under way."""
        return int(self._allowed)

    def hear(self, said: Any, began: float) -> None:
        """Take note of an attempt's outcome; `began` is the attempt's start on the monotonic clock."""
        if not isinstance(said, Failure):
            self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        elif said.overloaded and began > self._slowed:
            self._allowed = max(1.0, self._allowed / 2)
            self._slowed = time.monotonic()


class Client:
    """Asks one server."""

    # After a time-out, a dropped connection or one of the statuses 408, 409, 429 and 5xx, a request is tried
    # again. Each wait is twice the one before, or as long as Retry-After says. Redirects are not followed. A
    # reply is read only up to the limit `reply`, compressed or not. The environment's proxies are used,
    # except for servers on this machine.

    def __init__(
        self, server: Server, at_once: int = AT_ONCE, attempts: int = 6, timeout: float = 60.0
    ) -> None:
        try:
            import httpx2  # noqa: F401
        except ImportError as error:
            raise MissingExtra(
                f"The judge {sanitize.short_repr(server.kind + server.model)} needs httpx2 ({error}): "
                "pip install 'halluscope[api]'."
            ) from error
        self.server = server
        self.at_once = check_at_once(at_once)
        self._pace = AdaptiveConcurrency(self.at_once)
        self.attempts = whole("attempts", attempts, 1, 1_000, "a number of attempts")
        self.timeout = finite("timeout", timeout, 0.001, 86_400, "seconds")
        for name in _LOGS:
            logging.getLogger(name).addFilter(_fit_to_be_logged)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the server's reply to one request: the value of its JSON, or a `Failure`."""
        with self._opened() as (portal, client):
            return portal.call(self._post, client, path, body)

    def each(self, path: str, bodies: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Any]]:
        """Yield each request's index with the value of the reply's JSON or a `Failure`, in the order of arrival."""
        # A body is made only when its request starts, so memory holds no more bodies than requests may be
        # under way
        came: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        waiting = enumerate(bodies)
        unserved = 0
        with self._opened() as (portal, client):

            def start() -> bool:
                """Start the next request, if there is one."""
                for index, body in waiting:
                    future = portal.start_task_soon(self._post, client, path, body)
                    future.add_done_callback(partial(_put, came, index))
                    return True
                return False

            under_way = 0
            while True:
                while under_way < self._pace.allowed and start():
                    under_way += 1
                if not under_way:
                    return
                index, future = came.get()
                said = future.result()
                unserved = unserved + 1 if isinstance(said, Failure) and not said.served else 0
                if isinstance(said, Failure) and (said.final or unserved >= DOWN_AFTER):
                    raise self.unavailable(said)
                yield index, said
                # Only now has the caller kept the reply, so a killed process loses few replies.
                under_way -= 1

    def unavailable(self, failure: Failure) -> JudgeUnavailable:
        """Return the error for a failure that ends the whole run."""
        server, model = self.server, sanitize.short_repr(self.server.model)
        if failure.status in (401, 403) and not server.may_have_key:
            return JudgeUnavailable(
                f"{server.origin} requires an access key (HTTP {failure.status}). It was not sent: the address begins "
                "with http://, so anyone on the network between here and there could read the key. Use an address that "
                f"begins with https://; or, if you trust the network, set the environment variable {CONSENT} to the "
                "host's name."
            )
        if failure.status in (401, 403):
            return JudgeUnavailable(
                f"{server.origin} refuses the access key in the environment variable {server.key_variable} "
                f"(HTTP {failure.status}). Set it to a key for that server that allows the use of {model}."
            )
        if failure.elsewhere:
            return JudgeUnavailable(
                f"{server.origin} points to another address (HTTP {failure.status}): {failure.said}. Redirects are "
                f"not followed, because they could take prompts and keys anywhere. If that address is the right one, "
                f"name it: '{server.kind}MODEL@ADDRESS', where ADDRESS usually ends in /v1."
            )
        said = f", {failure.said}" if failure.words else ""
        if failure.served:
            return JudgeUnavailable(
                f"{server.origin} gives no reply from {model}: {failure.reason}{said}. Check the model's name and the "
                "address, which usually ends in /v1."
            )
        return JudgeUnavailable(
            f"{server.origin} cannot be reached: {failure.reason}, after at most {self.attempts} attempts{said}. Check "
            "the address, the quota of the access key, and whether the server is running; then run again. Earlier "
            "replies are kept if there is a cache."
        )

    @contextmanager
    def _opened(self) -> Iterator[tuple["BlockingPortal", "AsyncClient"]]:
        """Open connections in an event loop with its own thread, so that this works inside a running loop too."""
        import httpx2
        from anyio.from_thread import start_blocking_portal

        try:
            connections = httpx2.AsyncClient(
                timeout=self.timeout,
                limits=httpx2.Limits(max_connections=self.at_once),
                trust_env=not self.server.is_here,
            )
        except (ImportError, ValueError, httpx2.InvalidURL) as error:
            raise JudgeUnavailable(
                f"The proxy that the environment names cannot be used ({type(error).__name__}). Check HTTP_PROXY, "
                "HTTPS_PROXY and ALL_PROXY, or name the server in NO_PROXY."
            ) from None
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(connections) as client:
            yield portal, client

    async def _post(self, client: "AsyncClient", path: str, body: Mapping[str, Any]) -> Any:
        """Return what the server says to a request, which is sent up to `attempts` times."""
        import asyncio  # here, since it takes long to import

        content = json.dumps(body).encode()
        clock = asyncio.get_running_loop()
        end = clock.time() + self.attempts * self.timeout
        try:
            async with asyncio.timeout_at(end):
                for attempt in range(self.attempts):
                    began = time.monotonic()
                    said = await self._attempt(client, path, content)
                    self._pace.hear(said, began)
                    if not isinstance(said, Failure) or not said.passing or attempt + 1 == self.attempts:
                        break
                    wait = said.wait or _backed_off(attempt)
                    if clock.time() + wait >= end:
                        break
                    await asyncio.sleep(wait)
                return said
        except TimeoutError:
            return _silent(self.attempts * self.timeout, ", all attempts together")

    async def _attempt(self, client: "AsyncClient", path: str, content: bytes) -> Any:
        import httpx2

        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            **self.server.authorization(),
        }
        url = f"{self.server.url}/{path}"
        try:
            async with client.stream("POST", url, content=content, headers=headers) as response:
                return await _read(response)
        except httpx2.TimeoutException:
            return _silent(self.timeout)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL):
            return Failure("no connection")


def check_at_once(value: int) -> int:
    """Check how many requests may be under way."""
    return whole("at_once", value, 1, 10_000, "a number of requests")


async def _read(response: "Response") -> Any:
    """Return the value of a reply's JSON, or the `Failure` that says why it has no value."""
    status = response.status_code
    if 300 <= status < 400:
        where = response.headers.get("location", "")
        return Failure(f"HTTP {status}, a redirect, which is not followed", status, where)
    body = await _body(response)
    if status >= 400:
        words = "" if isinstance(body, Failure) else _words(body)
        return Failure(f"HTTP {status}", status, words, _asked_to_wait(response.headers.get("retry-after")))
    if isinstance(body, Failure):
        return body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # RecursionError: thousands of nested brackets
        return Failure("not JSON", status)


async def _body(response: "Response") -> bytes | Failure:
    """Return a reply's body, unpacked. Memory never holds more than the limit plus one chunk."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", *_PACKED):
        return Failure("compressed in a way that was not asked for", response.status_code)
    most = limits.most("reply")
    unpacker = zlib.decompressobj(wbits=_GZIP_OR_ZLIB) if packing in _PACKED else None
    body = bytearray()
    try:
        async for chunk in response.aiter_raw():
            body += unpacker.decompress(chunk, most + 1 - len(body)) if unpacker else chunk
            if len(body) > most:
                return Failure(
                    f"larger than the limit 'reply' of {most:,} bytes (raise it by --limits reply={2 * most})",
                    response.status_code,
                )
    except zlib.error:
        return Failure("compressed, but damaged", response.status_code)
    return bytes(body)


def _words(body: bytes) -> str:
    """Return an error's message: its JSON without escapes, which could hide an access key, or else its text."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def _asked_to_wait(said: str | None) -> float:
    """Return the seconds that a Retry-After header asks for, as a number or as a date; 0 if it is neither."""
    try:
        wait = float(said or "")
    except ValueError:
        wait = _seconds_until(said or "")
    return wait if wait > 0 else 0.0  # 0 for NaN too


def _seconds_until(date: str) -> float:
    try:
        return float(parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _silent(seconds: float, of: str = "") -> Failure:
    return Failure(f"no reply within {seconds:g} s{of}", late=True)


def _backed_off(attempt: int) -> float:
    """Return the seconds to wait after this attempt, varied so that clients do not retry in step."""
    return random.uniform(0.75, 1.0) * min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**attempt)


def _put(came: "SimpleQueue[tuple[int, Any]]", index: int, future: Any) -> None:
    came.put((index, future))


def _fit_to_be_logged(record: logging.LogRecord) -> bool:
    """Make a log record of the HTTP libraries safe to show."""
    record.msg, record.args = sanitize.heard(record.getMessage()), ()
    return True
