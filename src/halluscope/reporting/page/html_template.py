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


@cache
def template(package: str, **settings: Any) -> Template:
    """Return the page.html of a package, with its page.css and page.js; each inserted text is escaped."""
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **settings
    )
    style, script = text_of(__package__, LOOK) + text_of(package, "page.css"), text_of(package, "page.js")
    made.globals |= {"style": style, "script": script, "policy": policy(style, script), "as_json": as_json}
    return made.from_string(text_of(package, "page.html"))


def text_of(package: str, name: str) -> str:
    """Return the text of a file in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that allows only this style, this script, and images within the page."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def as_json(value: Any) -> Markup:
    """Return a value as JSON for a script element of HTML; it cannot end that element."""
    return Markup(json_text(value).replace("<", "\\u003c"))


def data_uri(content: bytes, kind: str) -> str:
    """Return a data URI that holds a file; `kind` is the file's media type."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
