"""The server that runs a model, and requests to it over HTTP: many at once, no redirects, no leak of the access key.

Each request ends in the value of the server's reply or in a `Failure`. No error of the HTTP library leaves this module,
because it holds the request, and so the access key.
"""

import json
import logging
import math
import os
import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from halluscope import limits, sanitize
from halluscope.errors import JudgeUnavailable, needs
from halluscope.judging.judge import AT_ONCE, MOST_AT_ONCE
from halluscope.sanitize import KEY_VARIABLE
from halluscope.validation import whole

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from httpx2 import AsyncClient, Response

ENDPOINT = "openai:"  # The prefix for a model behind an OpenAI-compatible endpoint

OPENAI = "https://api.openai.com/v1"

# The environment variable that lists, separated by commas, the hosts that get the access key over http:// too
CONSENT = "HALLUSCOPE_KEY_TO"

# The server counts as down once it has failed to serve this many requests in a row. Failures that may pass
# are retried first.
DOWN_AFTER = 8

# Statuses after which no request is served: the access key is refused, has no credit, or there is no such model
FINAL = (401, 402, 404)

# The reason for a missing reply if the server sent something else than JSON, such as a page of a gateway
NOT_JSON = "not JSON"

# The wait before the second attempt, and the longest wait, in seconds; each wait is twice the one before
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0

# The loggers of the HTTP library
_LOGS = (
    "httpx2",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpcore2.socks",
)

_SLASH = re.compile(r"[\\/]")
_NAMED_URL = re.compile(r"(?P<model>.*?)@(?P<url>https?://.*)", re.IGNORECASE)
# Matches "@" and an address without http:// or https:// at the end of a name, but no revision such as "@v1.0"
_NO_SCHEME = re.compile(
    r"@(?:\S*://.*|(?:localhost|[\w.-]+(?=:\d)|[\w-]+(?:\.[\w-]+)*\.[a-z]+|\d+(?:\.\d+){3}|\[[\da-f:]+\])"
    r"(?::\d{1,5})?(?:/\S*)?)",
    re.IGNORECASE,
)
# Matches an address whose host every library reads in the same way, without a user or a query
_URL = re.compile(r"https?://(?:[\w.-]+|\[[\da-f:.]+\])(?::(?P<port>\d{1,5}))?(?:/[^?#]*)?", re.IGNORECASE)


@contextmanager
def sending_nothing() -> Iterator[None]:
    """Require no access key inside this context, in which nothing is sent."""
    is_there = bool(os.environ.get(KEY_VARIABLE))
    try:
        if not is_there:
            os.environ[KEY_VARIABLE] = sanitize.PLACEHOLDERS[0]
        yield
    finally:
        if not is_there:
            del os.environ[KEY_VARIABLE]


@dataclass(frozen=True)
class Server:
    """A model and the server that runs it. It holds no access key."""

    model: str  # the model's name on the server
    url: str  # the address, without a slash at its end

    @classmethod
    def named(cls, name: str) -> "Server":
        """Return the server of "MODEL[@URL]", checked to be one, with an address that holds nothing secret."""
        model = name
        url = os.environ.get("OPENAI_BASE_URL") or OPENAI
        named_url = _NAMED_URL.fullmatch(name)
        if named_url:
            model = named_url["model"]
            url = named_url["url"]
        elif any(_NO_SCHEME.fullmatch(name, mark.start()) for mark in re.finditer("@", name)):
            shown = sanitize.short_repr(ENDPOINT + name.partition("@")[0])
            raise JudgeUnavailable(
                f"The judge {shown} has an address that begins with neither http:// nor https://; write "
                f"'{ENDPOINT}MODEL@http://localhost:8000/v1'. Nothing is sent."
            )
        if not model.strip():
            raise JudgeUnavailable(f"{ENDPOINT!r} names no model; expected '{ENDPOINT}MODEL[@URL]'.")
        if sanitize.printable(model) != model or "\n" in model:
            raise JudgeUnavailable(
                f"The model's name {sanitize.short_repr(model)} cannot be used; expected one line of printable "
                "characters without an access key, which belongs in the environment."
            )
        address = _URL.fullmatch(url)
        if not address or not url.isprintable() or int(address["port"] or 0) > 65_535:
            raise JudgeUnavailable(
                "The judge's address cannot be used; expected http(s)://host/v1 without a user or a query. An access "
                "key belongs in the environment."
            )
        server = cls(model, url.rstrip("/"))
        server.access_key()
        return server

    @property
    def key(self) -> str:
        """The server's part of a judge's key: the model, and a digest of the address if it is not OpenAI's.

        Of a model's name that is a path, as on some servers, it has the last part and a digest of the whole.
        """
        model = self.model
        if model.startswith(("/", "\\", ".", "~")) or ":\\" in model:
            model = f"{_SLASH.split(model)[-1]}-{_digest(model)}"
        if self.url == OPENAI:
            return f"{ENDPOINT}{model}"
        parts = urlsplit(self.url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        return f"{ENDPOINT}{model}@{_digest(f'{parts.scheme}://{parts.hostname}:{port}{parts.path}')}"

    @property
    def origin(self) -> str:
        """The address up to the path, for messages."""
        return self.url.removesuffix(urlsplit(self.url).path)

    @property
    def is_here(self) -> bool:
        """Whether the server runs on this machine: its host is localhost or a loopback address, as written."""
        host = urlsplit(self.url).hostname or ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def may_have_key(self) -> bool:
        """Whether the key may be sent to the server: nobody can read it on the way, or the user has named the host."""
        parts = urlsplit(self.url.lower())
        if parts.scheme == "https" or self.is_here:
            return True
        agreed = [host.strip().lower() for host in os.environ.get(CONSENT, "").split(",")]
        return parts.netloc in agreed or parts.netloc.removesuffix(f":{parts.port}") in agreed

    def access_key(self) -> str:
        """Return the access key, read from the environment each time so that no object holds it; "" if not set."""
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if not key and self.url == OPENAI:
            raise JudgeUnavailable(
                f"The judge {ENDPOINT}{self.model} needs an access key, and the environment variable "
                f"{KEY_VARIABLE} is not set. Set it, or give the address of a server that needs none: "
                f"'{ENDPOINT}{self.model}@http://localhost:8000/v1'."
            )
        if not (key.isascii() and key.isprintable()):
            raise JudgeUnavailable(
                f"The environment variable {KEY_VARIABLE} holds characters that no access key has; set it again."
            )
        return key


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Failure:
    """Why there was no reply."""

    reason: str  # a short text, by which failures are counted
    status: int = 0  # the HTTP status; 0 if nothing came back
    # the server's message as it came: to be searched, never to be shown
    raw_message: str = field(default="", repr=False)
    wait: float = 0.0  # seconds that the server asks to wait; 0 if it asks for no wait
    late: bool = False  # whether the server took too long

    @property
    def message(self) -> str:
        """The server's message, made safe to show; "" if there is none."""
        return self.raw_message and sanitize.quoted(self.raw_message)

    @property
    def is_temporary(self) -> bool:
        """Whether another attempt is worthwhile."""
        return self.status in (0, 408, 409, 429) or self.status >= 500

    @property
    def is_unserved(self) -> bool:
        """Whether the server may serve no other request either: it fails, points elsewhere, sends a page or forbids.

        403 may be a filter's refusal of this one, or of all that the access key asks.
        """
        is_redirect = 300 <= self.status < 400
        return self.is_temporary or is_redirect or self.status == 403 or self.reason == NOT_JSON


class Client:
    """Asks one server; requests that are under way halve when it is overloaded, and slowly become more again."""

    # After a time-out, a dropped connection or one of the statuses 408, 409, 429 and 5xx, a request is tried
    # again. Each wait is twice the one before, or as long as Retry-After says. Redirects are not followed. A
    # reply is read only up to the limit `reply`, compressed or not. The environment's proxies are used,
    # except for servers on this machine. After each round of replies (as many as the limit allows requests), the
    # limit of requests under way grows by one. Attempts that began before the last halving do not halve it again,
    # because they report the same overload.

    def __init__(
        self, server: Server, at_once: int = AT_ONCE, attempts: int = 6, timeout: float = 60.0
    ) -> None:
        with needs(f"The judge {sanitize.short_repr(ENDPOINT + server.model)}", "api"):
            import httpx2  # noqa: F401
        self.server = server
        self.at_once = whole("at_once", at_once, 1, MOST_AT_ONCE, "a number of requests")
        self.allowed = float(self.at_once)  # how many requests may be under way now
        self.attempts = attempts
        self.timeout = timeout
        self._slowed = -math.inf  # when `allowed` was last halved, by the monotonic clock
        for name in _LOGS:
            logging.getLogger(name).addFilter(_fit_to_be_logged)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the server's reply to one request: the value of its JSON, or a `Failure`."""
        with self._opened() as (portal, client):
            return portal.call(self._post, client, path, body)

    def each(self, path: str, bodies: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Any]]:
        """Yield each request's index with the value of the reply's JSON or a `Failure`, in the order of arrival."""
        # A body is made when its request starts, so memory holds no more bodies than requests may be under way
        waiting = enumerate(bodies)
        under_way: dict[Future[Any], int] = {}
        done: SimpleQueue[Future[Any]] = SimpleQueue()
        unserved = 0
        with self._opened() as (portal, client):
            while True:
                while len(under_way) < int(self.allowed):
                    request = next(waiting, None)
                    if request is None:
                        break
                    index, body = request
                    future = portal.start_task_soon(self._post, client, path, body)
                    under_way[future] = index
                    future.add_done_callback(done.put)
                if not under_way:
                    return
                future = done.get()
                reply = future.result()
                if isinstance(reply, Failure) and reply.is_unserved:
                    unserved += 1
                else:
                    unserved = 0
                if isinstance(reply, Failure) and (reply.status in FINAL or unserved >= DOWN_AFTER):
                    raise self.unavailable(reply)
                yield under_way[future], reply
                # only now, so that the caller has kept all but few replies if he is killed
                del under_way[future]

    def unavailable(self, failure: Failure) -> JudgeUnavailable:
        """Return the error for a failure that ends the whole run."""
        return JudgeUnavailable(f"{self.server.origin} {self._trouble(failure)}")

    def _trouble(self, failure: Failure) -> str:
        """Say what is wrong with the server, and what to do."""
        model = sanitize.short_repr(self.server.model)
        status = failure.status
        message = ""
        if failure.message:
            message = f", {failure.message}"
        if status in (401, 403) and not self.server.may_have_key:
            return (
                f"requires an access key (HTTP {status}). It was not sent: the address begins with http://, so anyone "
                "on the network between here and there could read the key. Use an address that begins with https://; "
                f"or, if you trust the network, set the environment variable {CONSENT} to the host's name."
            )
        if status in (401, 403):
            return (
                f"refuses the access key in the environment variable {KEY_VARIABLE} (HTTP {status}). Set it to "
                f"a key for that server that allows the use of {model}."
            )
        if status == 402:
            return (
                f"has no credit for the access key in the environment variable {KEY_VARIABLE} (HTTP 402{message}). Add "
                "credit, or set another key; then run again. Earlier replies are kept if there is a cache."
            )
        if 300 <= status < 400:
            return (
                f"points to another address (HTTP {status}): {failure.message}. Redirects are not followed, because "
                "they could take prompts and keys anywhere. If that address is the right one, name it: "
                f"'{ENDPOINT}MODEL@ADDRESS', where ADDRESS usually ends in /v1."
            )
        if not failure.is_temporary:
            return (
                f"gives no reply from {model}: {failure.reason}{message}. Check the model's name and the address, "
                "which usually ends in /v1."
            )
        return (
            f"cannot be reached: {failure.reason}, after at most {self.attempts} attempts{message}. Check the "
            "address, the quota of the access key, and whether the server is running; then run again. Earlier "
            "replies are kept if there is a cache."
        )

    def _adapt(self, reply: Any, began: float) -> None:
        """Adapt how many requests may be under way to an attempt that began at this time of the monotonic clock."""
        if not isinstance(reply, Failure):
            self.allowed = min(self.at_once, self.allowed + 1 / self.allowed)
        elif (reply.late or reply.status in (429, 503)) and began > self._slowed:
            self.allowed = max(1.0, self.allowed / 2)
            self._slowed = time.monotonic()

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
        attempt = 0
        try:
            async with asyncio.timeout_at(end):
                while True:
                    attempt += 1
                    began = time.monotonic()
                    reply = await self._attempt(client, path, content)
                    self._adapt(reply, began)
                    if not isinstance(reply, Failure) or not reply.is_temporary:
                        return reply
                    wait = reply.wait
                    if not wait:
                        wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1))
                        wait *= random.uniform(0.75, 1.0)  # so that clients do not retry in step
                    if attempt >= self.attempts or clock.time() + wait >= end:
                        return reply
                    await asyncio.sleep(wait)
        except TimeoutError:
            seconds = f"{self.attempts * self.timeout:g} s, all attempts together"
            return Failure(f"no reply within {seconds}", late=True)

    async def _attempt(self, client: "AsyncClient", path: str, content: bytes) -> Any:
        """Return the value of a reply's JSON, or the `Failure` that says why it has no value."""
        import httpx2

        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        access_key = self.server.access_key()
        if access_key and self.server.may_have_key:
            headers["Authorization"] = f"Bearer {access_key}"
        most = limits.most("reply")
        try:
            sent = client.stream("POST", f"{self.server.url}/{path}", content=content, headers=headers)
            async with sent as response:
                status = response.status_code
                if 300 <= status < 400:
                    reason = f"HTTP {status}, a redirect, which is not followed"
                    return Failure(reason, status, response.headers.get("location", ""))
                body = await _body_of(response, most)
        except httpx2.TimeoutException:
            return Failure(f"no reply within {self.timeout:g} s", late=True)
        except httpx2.DecodingError:
            return Failure("compressed, but damaged", 200)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL):
            return Failure("no connection")
        if status >= 400:
            message = "" if len(body) > most else _message_in(body)
            wait = _seconds(response.headers.get("retry-after", ""))
            return Failure(f"HTTP {status}", status, message, wait)
        if len(body) > most:
            hint = f"raise it by --limits reply={2 * most}"
            return Failure(f"larger than the limit 'reply' of {most:,} bytes ({hint})", status)
        return _value_of(body, status)


async def _body_of(response: "Response", most: int) -> bytearray:
    """Return a reply's body, unpacked if it is compressed, or a little more than so many bytes of it."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            break
    return body


def _value_of(body: bytearray, status: int) -> Any:
    """Return the value of a body's JSON, or the `Failure` that says why it has no value."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # RecursionError: thousands of nested brackets
        return Failure(NOT_JSON, status)
    error = _error_status(value)
    if error:
        return Failure(f"HTTP {status} with the error {error}", error, _message_in(body))
    return value


def _error_status(value: Any) -> int:
    """Return the status of an error that a gateway reports in a reply of another status; 0 if it reports none."""
    if not isinstance(value, dict) or "choices" in value or not isinstance(value.get("error"), dict):
        return 0
    code = value["error"].get("code")
    if type(code) is not int or not 400 <= code < 600:
        return 0
    return code


def _message_in(body: bytearray) -> str:
    """Return what an error's body says. JSON is written anew, because its escapes could hide an access key."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def _seconds(header: str) -> float:
    """Return the seconds that a server asks to wait; 0 if it says nothing, or a date."""
    try:
        return max(0.0, float(header))  # 0 for NaN too
    except ValueError:
        return 0.0


def _fit_to_be_logged(record: logging.LogRecord) -> bool:
    """Make a log record of the HTTP libraries safe to show."""
    record.msg = sanitize.external_text(record.getMessage())
    record.args = ()
    return True
