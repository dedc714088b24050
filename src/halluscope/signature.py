"""Makes a score's signature: one line with a key for each choice that can change the score, and the version last.

The idea is sacrebleu's: scores can be compared only if their signatures are known. The key `data` names the rows that
were scored, and `responses` says how responses were matched to them.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from halluscope.version import __version__

ORIGINAL = "original"
"""The form of a row that belongs to no parallel form; without the key `form`, a signature means this form."""

GIVEN = "given"
"""The value of `responses` where the caller matched them to their rows."""

# What separates values and rows before they are digested
BETWEEN_VALUES = "\x1f"
BETWEEN_ROWS = "\x1e"


def signature(metric: str, *, data: object, responses: object = GIVEN, **choices: object) -> str:
    """Make the signature of a score.

    Args:
        metric: the metric's name.
        data: what `data_of` returns for the rows that were scored.
        responses: how the responses were matched to their rows, such as "id".
        choices: every other choice that can change the score.

    >>> signature("throne", data="coco-5-0a1b2c3d", agreement="9of9").rsplit("|", 1)[0]
    'throne|data:coco-5-0a1b2c3d|responses:given|agreement:9of9'
    """
    keys = {"data": data, "responses": responses, **choices, "version": __version__}
    return _line(metric, {key: _plain(value) for key, value in keys.items()})


def form_of(forms: Iterable[str]) -> dict[str, str]:
    """Return the key for the rows' parallel forms, given their column `form`; {} if all are "".

    >>> form_of(["parallel-1-0", "parallel-1-0"]), form_of(["", "parallel-1-0"]), form_of([""])
    ({'form': 'parallel-1-0'}, {'form': 'original,parallel-1-0'}, {})
    """
    names = {form or ORIGINAL for form in forms}
    if not names or names == {ORIGINAL}:
        return {}
    return {"form": ",".join(sorted(names))}


def changed(line: str, **choices: object) -> str:
    """Set some keys of a signature; a new key is added before the version.

    >>> changed("pope|data:pope-2-0a1b2c3d|version:1", part="2of9")
    'pope|data:pope-2-0a1b2c3d|part:2of9|version:1'
    """
    keys = keys_of(line)
    version = keys.pop("version")
    for key, value in choices.items():
        keys[key] = _plain(value)
    keys["version"] = version
    metric = line.partition("|")[0]
    return _line(metric, keys)


def keys_of(line: str) -> dict[str, str]:
    """Return the keys of a signature and their values."""
    keys = {}
    for part in line.split("|")[1:]:
        key, _, value = part.partition(":")
        keys[key] = value
    return keys


def _line(metric: str, keys: dict[str, str]) -> str:
    parts = [metric]
    for key, value in keys.items():
        parts.append(f"{key}:{value}")
    return "|".join(parts)


def data_of(name: str, rows: Iterable[Iterable[object]]) -> str:
    """Identify scored data: a name, the number of rows, and 8 hexadecimal digits over their ids, questions and labels.

    The order of the rows does not count, nor does whether a number was read as text, or how Unicode composes a letter:
    the same data from csv and from Parquet give the same digits.

    Args:
        name: the name of the dataset, or of the source of its labels.
        rows: the values of each row.
    """
    lines = []
    for row in rows:
        values = [str(value) for value in row]
        lines.append(BETWEEN_VALUES.join(values))
    return data_of_lines(name, lines)


def data_of_texts(name: str, rows: Iterable[Iterable[str]]) -> str:
    """Identify data as `data_of` does, in half the time, if all values are texts."""
    return data_of_lines(name, list(map(BETWEEN_VALUES.join, rows)))


def data_of_objects(
    name: str, references: Sequence[Iterable[str]], image_ids: Sequence[object] | None
) -> str:
    """Identify images, by their ids, and the objects in each, in any order, as `data_of` does."""
    if image_ids is None:
        image_ids = [""] * len(references)
    rows = []
    for image_id, objects in zip(image_ids, references, strict=True):
        row = [str(image_id)]
        row += sorted({unicodedata.normalize("NFC", name) for name in objects})
        rows.append(row)
    return data_of_texts(name, rows)


def data_of_lines(name: str, lines: list[str]) -> str:
    """Identify data as `data_of` does, if each row is one text, its values divided by `BETWEEN_VALUES`."""
    import hashlib

    if not all(map(str.isascii, lines)):
        lines = [unicodedata.normalize("NFC", line) for line in lines]
    text = BETWEEN_ROWS.join(sorted(lines))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name}-{len(lines)}-{digest}"


def _plain(value: object) -> str:
    """Return a value on one line, without the characters that divide a signature."""
    if isinstance(value, list | tuple):
        items = [_plain(item).replace(",", "_") for item in value]
        return ",".join(items)
    return re.sub(r"[|\s\x00-\x1f\x7f]", "_", str(value))
