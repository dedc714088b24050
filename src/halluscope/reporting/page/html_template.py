"""Makes a single-file page safe: a policy that only lets the page's own script run, and data that stays text."""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from halluscope.files.writing import json_text

LOOK = "look.css"  # the file with the look of all our pages


# Only a page's style, its script, and images within it are allowed.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; "
    "form-action 'none'"
)


@cache
def template(package: str, **settings: Any) -> Template:
    """Return the page.html of a package, with its page.css and page.js; each inserted text is escaped."""
    style = _text_of(__package__, LOOK) + _text_of(package, "page.css")
    script = _text_of(package, "page.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **settings
    )
    environment.globals["style"] = style
    environment.globals["script"] = script
    environment.globals["policy"] = POLICY.format(style=_digest(style), script=_digest(script))
    environment.globals["as_json"] = as_json
    return environment.from_string(_text_of(package, "page.html"))


def _text_of(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return a text's digest as a policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def as_json(value: Any) -> Markup:
    """Return a value as JSON for a script element of HTML; it cannot end that element."""
    return Markup(json_text(value).replace("<", "\\u003c"))


def data_uri(content: bytes, kind: str) -> str:
    """Return a data URI that holds a file; `kind` is the file's media type."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
