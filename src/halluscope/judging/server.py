"""The server that runs a model: its address, and whether the access key may be sent there."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from halluscope import sanitize
from halluscope.errors import JudgeUnavailable

ENDPOINT = "openai:"  # The prefix for a model behind an OpenAI-compatible endpoint

SCORING = "scoring:"  # The prefix for a model whose server compares the probabilities of labels

OPENAI = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"

# The environment variable that lists, separated by commas, the hosts that get the access key over http:// too
CONSENT = "HALLUSCOPE_KEY_TO"

_NAMED_URL = re.compile(r"(?P<model>.*?)@(?P<url>https?://.*)", re.IGNORECASE)
# Matches "@" and an address without http:// or https:// at the end of a name, but not a revision such as
# "@v1.0"
_NO_SCHEME = re.compile(
    r"@(?:\S*://.*|(?:localhost|[\w.-]+(?=:\d)|[\w-]+(?:\.[\w-]+)*\.[a-z]+|\d+(?:\.\d+){3}|\[[\da-f:]+\])"
    r"(?::\d{1,5})?(?:/\S*)?)",
    re.IGNORECASE,
)
# Matches a host that every library reads in the same way, with or without a port
_HOST = re.compile(r"(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?", re.IGNORECASE)


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
    key_variable: str  # the environment variable that holds the access key
    kind: str = ENDPOINT  # how the model is asked, as the prefix of a judge's name

    @classmethod
    def named(
        cls, name: str, base_url: str | None = None, key_variable: str = KEY_VARIABLE, kind: str = ENDPOINT
    ) -> "Server":
        """Return the server that a user means."""
        sanitize.is_secret_in(key_variable)
        model, url = _divided(name, kind)
        url = _checked(url or base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
        server = cls(model, url, key_variable, kind)
        server.access_key()
        return server

    @property
    def key(self) -> str:
        """The server's part of a judge's key: the model, and a digest of the address if it is not OpenAI's."""
        return (
            f"{self.kind}{_without_path(self.model)}{'' if self.url == OPENAI else f'@{_digest(self.url)}'}"
        )

    @property
    def origin(self) -> str:
        """The address up to the path, for messages."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

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
        agreed = {host.strip().lower() for host in os.environ.get(CONSENT, "").split(",")}
        names = {parts.netloc, parts.netloc.removesuffix(f":{parts.port}")}
        return parts.scheme == "https" or self.is_here or bool(names & agreed)

    def authorization(self) -> dict[str, str]:
        """Return the header with the access key; empty if there is no key, or it may not be sent."""
        key = self.access_key()
        return {"Authorization": f"Bearer {key}"} if key and self.may_have_key else {}

    def access_key(self) -> str:
        """Return the access key, read from the environment each time so that no object holds it; "" if not set."""
        key = os.environ.get(self.key_variable, "").strip()
        if not key and (self.key_variable != KEY_VARIABLE or self.url == OPENAI):
            raise JudgeUnavailable(
                f"The judge {self.kind}{self.model} needs an access key, and the environment variable "
                f"{self.key_variable} is not set. Set it, or give the address of a server that needs none: "
                f"'{self.kind}{self.model}@http://localhost:8000/v1'."
            )
        if not (key.isascii() and key.isprintable()):
            raise JudgeUnavailable(
                f"The environment variable {self.key_variable} holds characters that no access key has; set it again."
            )
        return key


def _divided(name: str, kind: str) -> tuple[str, str | None]:
    """Return the model and the address of "MODEL@URL"; None as the address of a name without one."""
    model, url = name, None
    if named := _NAMED_URL.fullmatch(name):
        model, url = named["model"], named["url"]
    elif any(_NO_SCHEME.fullmatch(name, at.start()) for at in re.finditer("@", name)):
        raise JudgeUnavailable(
            f"The judge {sanitize.short_repr(kind + name.partition('@')[0])} has an address that begins with neither "
            f"http:// nor https://; write '{kind}MODEL@http://localhost:8000/v1'. Nothing is sent."
        )
    if not model.strip():
        raise JudgeUnavailable(f"{kind!r} names no model; expected '{kind}MODEL[@URL]'.")
    if sanitize.printable(model) != model or "\n" in model:
        raise JudgeUnavailable(
            f"The model's name {sanitize.short_repr(model)} cannot be used; expected one line of printable characters "
            "without an access key, which belongs in the environment."
        )
    return model, url


def _checked(url: str) -> str:
    """Return an address, checked to be one and to hold nothing secret."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if (
        not good
        or not _HOST.fullmatch(parts.netloc)
        or parts.query
        or parts.fragment
        or not url.isprintable()
    ):
        raise JudgeUnavailable(
            "The judge's address cannot be used; expected http(s)://host/v1 without a user or a query. An access key "
            "belongs in the environment."
        )
    return url.rstrip("/")


def _digest(url: str) -> str:
    """Return a digest of scheme, host, port and path, which tells servers apart and shows no address."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return sha256(f"{parts.scheme}://{parts.hostname}:{port}{parts.path}".encode()).hexdigest()[:8]


def _without_path(model: str) -> str:
    """Return a model's name; if it is a path, as on some servers, return its last part and a digest of the whole."""
    if not model.startswith(("/", "\\", ".", "~")) and ":\\" not in model:
        return model
    last = re.split(r"[\\/]", model)[-1]
    return f"{last}-{sha256(model.encode()).hexdigest()[:8]}"
