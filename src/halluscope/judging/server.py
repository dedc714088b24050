"""Where a model is asked over HTTP, and whether the access key may go there."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from halluscope import foreign
from halluscope.errors import JudgeUnavailable

ENDPOINT = "openai:"
"""What a name starts with that means a model behind an OpenAI-compatible endpoint."""

SCORING = "scoring:"
"""What a name starts with that means a model whose server compares the probabilities of labels."""

OPENAI = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"

CONSENT = "HALLUSCOPE_KEY_TO"
"""The environment variable with the hosts, divided by commas, that get the access key over plain http:// too."""

_NAMED_URL = re.compile(r"(?P<model>.*?)@(?P<url>https?://.*)", re.IGNORECASE)
_NO_SCHEME = re.compile(
    r"@(?:\S*://.*|(?:localhost|[\w.-]+(?=:\d)|[\w-]+(?:\.[\w-]+)*\.[a-z]+|\d+(?:\.\d+){3}|\[[\da-f:]+\])"
    r"(?::\d{1,5})?(?:/\S*)?)",
    re.IGNORECASE,
)
"""At a name's end: "@" and an address that does not begin with http:// or https://, not a revision such as "@v1.0"."""
_HOST = re.compile(r"(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?", re.IGNORECASE)
"""A host that every library reads in the same way, with or without a port."""


@contextmanager
def sending_nothing() -> Iterator[None]:
    """Let no access key be needed for a while, in which nothing is sent."""
    is_there = bool(os.environ.get(KEY_VARIABLE))
    try:
        if not is_there:
            os.environ[KEY_VARIABLE] = foreign.PLACEHOLDERS[0]
        yield
    finally:
        if not is_there:
            del os.environ[KEY_VARIABLE]


@dataclass(frozen=True)
class Server:
    """A model and the server that runs it. It holds no access key.

    Attributes:
        model: as the server calls it.
        url: the address, without a slash at its end.
        key_variable: the environment variable that holds the access key.
        kind: how the model is asked: what a judge's name starts with.
    """

    model: str
    url: str
    key_variable: str
    kind: str = ENDPOINT

    @classmethod
    def named(
        cls, name: str, base_url: str | None = None, key_variable: str = KEY_VARIABLE, kind: str = ENDPOINT
    ) -> "Server":
        """The server that a user means.

        Args:
            name: a model, or "MODEL@http://host/v1".
            base_url: the address where the name has none; by default the environment's OPENAI_BASE_URL, else OpenAI's.
            key_variable: the environment variable that holds the access key.
            kind: what the judge's name starts with.

        Raises:
            JudgeUnavailable: for no model, an address that is none, or an access key that is not there.
        """
        foreign.is_secret_in(key_variable)
        model, url = _divided(name, kind)
        url = _checked(url or base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
        server = cls(model, url, key_variable, kind)
        server.access_key()
        return server

    @property
    def key(self) -> str:
        """What stands in a judge's key: the model, and a digest of the address if it is not OpenAI's."""
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
        """Whether the access key may go there: nobody can read it on the way, or the user names the host for it."""
        parts = urlsplit(self.url.lower())
        agreed = {host.strip().lower() for host in os.environ.get(CONSENT, "").split(",")}
        names = {parts.netloc, parts.netloc.removesuffix(f":{parts.port}")}
        return parts.scheme == "https" or self.is_here or bool(names & agreed)

    def authorization(self) -> dict[str, str]:
        """The header with the access key; none where there is no key, or it may not go there."""
        key = self.access_key()
        return {"Authorization": f"Bearer {key}"} if key and self.may_have_key else {}

    def access_key(self) -> str:
        """The access key, read anew from the environment each time so that no object holds it; "" for none.

        Raises:
            JudgeUnavailable: if the server needs one that is not there, or it cannot be one.
        """
        key = os.environ.get(self.key_variable, "").strip()
        if not key and (self.key_variable != KEY_VARIABLE or self.url == OPENAI):
            raise JudgeUnavailable(
                f"The judge {self.kind}{self.model} needs an access key, and the environment variable "
                f"{self.key_variable} is not set. Set it, or give the address of a server that wants none: "
                f"'{self.kind}{self.model}@http://localhost:8000/v1'."
            )
        if not (key.isascii() and key.isprintable()):
            raise JudgeUnavailable(
                f"The environment variable {self.key_variable} holds signs that no access key has; set it anew."
            )
        return key


def _divided(name: str, kind: str) -> tuple[str, str | None]:
    """The model and the address of "MODEL@URL"; None for a name without an address."""
    model, url = name, None
    if named := _NAMED_URL.fullmatch(name):
        model, url = named["model"], named["url"]
    elif any(_NO_SCHEME.fullmatch(name, at.start()) for at in re.finditer("@", name)):
        raise JudgeUnavailable(
            f"The judge {foreign.brief(kind + name.partition('@')[0])} has an address that begins with neither "
            f"http:// nor https://; write '{kind}MODEL@http://localhost:8000/v1'. Nothing is sent."
        )
    if not model.strip():
        raise JudgeUnavailable(f"{kind!r} names no model; expected '{kind}MODEL[@URL]'.")
    if foreign.printable(model) != model or "\n" in model:
        raise JudgeUnavailable(
            f"The model's name {foreign.brief(model)} cannot be used; expected one line of printable characters "
            "without an access key, which belongs in the environment."
        )
    return model, url


def _checked(url: str) -> str:
    """An address without anything secret in it."""
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
    """Of scheme, host, port and path: two servers differ, and no address stands anywhere."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return sha256(f"{parts.scheme}://{parts.hostname}:{port}{parts.path}".encode()).hexdigest()[:8]


def _without_path(model: str) -> str:
    """A model's name; of a path, as some servers name their models, the last part and a digest of the whole."""
    if not model.startswith(("/", "\\", ".", "~")) and ":\\" not in model:
        return model
    last = re.split(r"[\\/]", model)[-1]
    return f"{last}-{sha256(model.encode()).hexdigest()[:8]}"
