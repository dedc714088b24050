"""What a page of one file needs to be safe: a policy that lets nothing run but its own script, and data as text."""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from halluscope.files.writing import json_text

LOOK = "look.css"
"""What all our pages look like."""


@cache
def template(package: str, **settings: Any) -> Template:
    """The page.html of a package, with its page.css and page.js; each text that is put in is escaped.

    Args:
        package: where they lie.
        settings: others of jinja's.
    """
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **settings
    )
    style, script = text_of(__package__, LOOK) + text_of(package, "page.css"), text_of(package, "page.js")
    made.globals |= {"style": style, "script": script, "policy": policy(style, script), "as_json": as_json}
    return made.from_string(text_of(package, "page.html"))


def text_of(package: str, name: str) -> str:
    """A file that lies in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """A Content-Security-Policy: this style and this script, images in the page itself, and nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def as_json(value: Any) -> Markup:
    """A value as JSON that can stand in a script element of HTML, which it neither ends nor leaves."""
    return Markup(json_text(value).replace("<", "\\u003c"))


def data_uri(content: bytes, kind: str) -> str:
    """A file as an address that holds it; `kind` is its media type."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
