"""What made a number: one line with a key for each choice that can move it, and the version last.

The habit is sacrebleu's: a score without its signature cannot be compared. `data` says what the number is about, and
`responses` how these were put to it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from halluscope.version import __version__

ORIGINAL = "original"
"""The form of a row that is in no parallel form; a signature without the key `form` says the same."""

GIVEN = "given"
"""How responses were put to their rows where the caller did it."""


def signature(metric: str, *, data: object, responses: object = GIVEN, **choices: object) -> str:
    """The signature of a score.

    Args:
        metric: its name.
        data: what `data_of` says of the rows that were scored.
        responses: by what the responses were put to their rows.
        choices: what else can move the score.

    >>> signature("throne", data="coco-5-0a1b2c3d", agreement="9of9").rsplit("|", 1)[0]
    'throne|data:coco-5-0a1b2c3d|responses:given|agreement:9of9'
    """
    keys = {"data": data, "responses": responses, **choices, "version": __version__}
    return "|".join([metric, *(f"{key}:{_plain(value)}" for key, value in keys.items())])


def form_of(forms: Iterable[str]) -> dict[str, str]:
    """The key that tells a parallel form (`halluscope parallel`), by the column `form` of the rows; none if none is.

    >>> form_of(["parallel-1-0", "parallel-1-0"]), form_of(["", "parallel-1-0"]), form_of([""])
    ({'form': 'parallel-1-0'}, {'form': 'original,parallel-1-0'}, {})
    """
    found = {form or ORIGINAL for form in forms}
    return {"form": ",".join(sorted(found))} if found - {ORIGINAL} else {}


def changed(line: str, **choices: object) -> str:
    """A signature with other values of some keys; a key that it does not have stands before the version.

    >>> changed("pope|data:pope-2-0a1b2c3d|version:1", part="2of9")
    'pope|data:pope-2-0a1b2c3d|part:2of9|version:1'
    """
    keys = keys_of(line)
    version = keys.pop("version")
    keys |= {key: _plain(value) for key, value in choices.items()}
    parts = (f"{key}:{value}" for key, value in {**keys, "version": version}.items())
    return "|".join([line.partition("|")[0], *parts])


def keys_of(line: str) -> dict[str, str]:
    """The keys of a signature and their values."""
    return dict(part.split(":", 1) for part in line.split("|")[1:])


def data_of(name: str, rows: Iterable[Iterable[object]]) -> str:
    """What a score is about: a name, how many rows, and 8 hexadecimal digits over their ids, questions and labels.

    The order of the rows does not count, nor whether a number came as text, nor how Unicode composes a letter: the same
    data from csv and from Parquet are the same.

    Args:
        name: of the dataset, or of what its labels are taken from.
        rows: what each row consists of.
    """
    lines = sorted("\x1f".join(map(str, row)) for row in rows)
    text = "\x1e".join(lines)
    whole = text if text.isascii() else unicodedata.normalize("NFC", text)
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name}-{len(lines)}-{digest}"


def _plain(value: object) -> str:
    """A value on one line, without the signs that divide a signature."""
    if isinstance(value, list | tuple):
        return ",".join(_plain(item).replace(",", "_") for item in value)
    return re.sub(r"[|\s\x00-\x1f\x7f]", "_", str(value))
