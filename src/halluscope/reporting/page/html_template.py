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
    "default-src 'none'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'"
)


@cache
def template(package: str, **settings: Any) -> Template:
    """Return the page.html of a package, with its page.css and page.js; each inserted text is escaped."""

    def text_of(name: str, package: str = package) -> str:
        return resources.files(package).joinpath(name).read_text(encoding="utf-8")

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **settings
    )
    style, script = text_of(LOOK, __package__) + text_of("page.css"), text_of("page.js")
    digests = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (style, script))
    policy = POLICY.format(*map("sha256-{}".format, digests))
    made.globals |= {"style": style, "script": script, "policy": policy, "as_json": as_json}
    return made.from_string(text_of("page.html"))


def as_json(value: Any) -> Markup:
    """Return a value as JSON for a script element of HTML; it cannot end that element."""
    return Markup(json_text(value).replace("<", "\\u003c"))


def data_uri(content: bytes, kind: str) -> str:
    """Return a data URI that holds a file; `kind` is the file's media type."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
