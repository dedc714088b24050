"""Holds the class names that benchmarks ask about, in category order.

A built-in vocabulary is one TOML file in this folder. Its names are facts of the dataset; its `mentions` (what a text
may call a class) are this project's own table, and only the lexical judge uses them.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope import limits
from halluscope.errors import BuildError
from halluscope.options import nearest
from halluscope.sanitize import short_repr
from halluscope.validation import class_names, listed

CUSTOM = "custom"


@cache
def read_toml(module: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file beside a module, which is given by its `__file__`; its lists are tuples."""

    def tuples(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: tuples(one) for name, one in value.items()}
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    found: dict[str, Any] = tuples(tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8")))
    return found


class WordLists:
    """The lists of words in a section of a TOML file beside a module, as attributes; read at first use."""

    def __init__(self, module: str, file: str, section: str) -> None:
        self._file, self._section = (module, file), section

    def __getattr__(self, name: str) -> frozenset[str]:
        if name.startswith("__"):  # Python asks for these of any object
            raise AttributeError(name)
        words = self.__dict__[name] = frozenset(read_toml(*self._file)[self._section][name])
        return words


MOST_COMPARED = 10_000  # How many classes are searched for the name nearest to a misspelt one


class Plain(NamedTuple):
    """How a question of the set "plain" names a class."""

    word: str = ""  # used instead of the class's name; "" for the name itself
    # "one" takes an article, "mass" takes no article ("bread"), "many" takes no article and a plural verb ("skis")
    kind: str = "one"
    # what counts as the class in the dataset, if it is more or less than the word says; otherwise ""
    means: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """Class names in category order, with what is needed to write and to read them in sentences."""

    # "coco", "objects365", or "custom-<8 hexadecimal digits of the names' sha256>" for the user's own list
    name: str
    classes: tuple[str, ...]  # the names, unique and not empty
    plurals: frozenset[str] = frozenset()  # the names that take no article ("scissors")
    # class name -> words and phrases, in the singular, that a text may use for it
    mentions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # whether questions write the names in lower case ("Cabinet/shelf" as "cabinet/shelf")
    lower_case: bool = False
    # class name -> how a question of the set "plain" names it, if not by the name itself
    plain: Mapping[str, Plain] = field(default_factory=dict)
    # name of a group -> its classes, if the dataset has groups of classes
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def word(self, cls: str) -> str:
        """Return what a question calls a class."""
        return cls.lower() if self.lower_case else cls

    def presence(self, objects: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
        """Turn the object names of n images into a table [n, classes]."""
        listed = class_names(objects)
        what = f"A table of {len(listed):,} texts and {len(self.classes):,} classes"
        limits.check("cells", len(listed) * len(self.classes), what)
        column = {name: i for i, name in enumerate(self.classes)}
        table, sizes = np.zeros((len(listed), len(self.classes)), dtype=bool), [*map(len, listed)]
        with suppress(KeyError, TypeError):  # the scores of given votes wait for this: no loop in Python
            columns = [*map(column.__getitem__, chain.from_iterable(listed))]
            table[np.repeat(np.arange(len(listed)), sizes), columns] = True
            return table
        row, name = next(
            (row, name)
            for row, names in enumerate(listed)
            for name in names
            if not isinstance(name, str) or name not in column
        )
        hint = nearest(str(name)[:80], self.classes[:MOST_COMPARED])
        raise ValueError(
            f"references[{row}] names {short_repr(name)}, which is not one of the {len(self.classes)} classes of the "
            f"vocabulary {self.name!r}.{hint} To score another list of classes, pass vocabulary=[...]."
        )

    def check_known(self, classes: Collection[str], expected: str) -> None:
        """Refuse annotations of other classes."""
        for name in classes:
            if name not in self.classes:
                raise BuildError(
                    f"The annotations have the class {name!r}, which is not one of the {len(self.classes)} classes of "
                    f"the vocabulary {self.name!r}; expected {expected}."
                )

    def check_annotated(self, classes: Collection[str], where: str) -> None:
        """Refuse images that were not annotated with exactly these classes: a class not looked for is in no image."""
        missing = [name for name in self.classes if name not in {*classes}]
        unknown = [name for name in classes if name not in {*self.classes}]
        if missing or unknown:
            named = [
                f"{what} {len(names):,} ({', '.join(map(short_repr, names[:5]))}{', ...' if names[5:] else ''})"
                for what, names in (("lacks", missing), ("has others:", unknown))
                if names
            ]
            raise BuildError(
                f"{where} does not have the {len(self.classes):,} categories of the vocabulary {self.name!r}: it "
                f"{' and '.join(named)}. Every mention of a class that was not annotated would count as hallucinated. "
                "Get the complete annotations, or correct the names."
            )


def load(vocabulary: str | Sequence[str] | Vocabulary) -> Vocabulary:
    """Find a built-in vocabulary by name, or make one from a list of class names."""
    import hashlib

    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    if isinstance(vocabulary, str):
        return _builtin(vocabulary)
    expected = f"a list of class names, or one of {', '.join(names())}"
    classes = tuple(listed("vocabulary", vocabulary, expected))
    if not classes:
        raise ValueError(f"vocabulary is empty; expected {expected}.")
    limits.check("classes", len(classes), f"vocabulary, with {len(classes):,} names,")
    for i, name in enumerate(classes):
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"vocabulary[{i}] is {short_repr(name)}; expected a class name as text.")
    twice = sorted(name for name, times in Counter(classes).items() if times > 1)
    if twice:
        raise ValueError(
            f"vocabulary names {', '.join(map(short_repr, twice[:5]))} twice; name each class once."
        )
    digest = hashlib.sha256(json.dumps(classes).encode()).hexdigest()[:8]
    whole = _whole(classes)
    if whole and whole.classes == classes:
        return whole
    return Vocabulary(f"{CUSTOM}-{digest}", classes, plain=whole.plain if whole else {})


def part_of(classes: Sequence[str]) -> Vocabulary:
    """Make a vocabulary of these classes, with the plurals and the lower case of a built-in one that has them all.

    Some of the built-in classes are asked about just as all of them ("Is there a cabinet/shelf", "Are there scissors").
    If no built-in vocabulary has all the classes, those are plurals that are plurals in any built-in vocabulary.
    """
    made = load(classes)
    if whole := _whole(made.classes):
        return replace(made, plurals=whole.plurals, lower_case=whole.lower_case)
    plurals = {name.lower() for known in map(_builtin, names()) for name in known.plurals}
    return replace(made, plurals=frozenset(name for name in made.classes if name.lower() in plurals))


def _whole(classes: Sequence[str]) -> Vocabulary | None:
    return next((known for known in map(_builtin, names()) if {*classes} <= {*known.classes}), None)


def names() -> list[str]:
    return sorted(file.stem for file in Path(__file__).parent.glob("*.toml"))


@cache
def _builtin(name: str) -> Vocabulary:
    if name not in names():
        raise ValueError(
            f"There is no vocabulary {short_repr(name)}; known are {', '.join(names())}. "
            "You may also pass a list of class names: vocabulary=['dog', 'cup', ...]."
        )
    table = read_toml(__file__, f"{name}.toml")
    classes = table["classes"]
    return Vocabulary(
        name=name,
        classes=tuple(classes),
        plurals=frozenset(table["plurals"]),
        mentions=classes,
        lower_case=table.get("lower_case", False),
        plain={cls: Plain(**facts) for cls, facts in table["plain"].items()},
        groups=table.get("groups", {}),
    )
