"""Holds the class names that benchmarks ask about, in category order.

A built-in vocabulary is one TOML file in this folder. Its names are facts of the dataset; its `mentions` (what a text
may call a class) are this project's own table, and only the lexical judge uses them.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope import limits
from halluscope.errors import BuildError
from halluscope.options import nearest
from halluscope.sanitize import short_repr
from halluscope.validation import class_names, listed

CUSTOM = "custom"

# How many classes are searched for the name nearest to a misspelt one
MOST_COMPARED = 10_000

# How many names an error shows
SHOWN = 5


@cache
def read_toml(module: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file beside a module, which is given by its `__file__`; its lists are tuples."""
    text = Path(module).with_name(name).read_text(encoding="utf-8")
    content: dict[str, Any] = _with_tuples(tomllib.loads(text))
    return content


def _with_tuples(value: Any) -> Any:
    """Return a value with tuples in place of lists, which a caller could change for all others."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return tuple(_with_tuples(inner) for inner in value)
    return value


class WordLists:
    """The lists of words in a section of a TOML file beside a module, as attributes; read at first use."""

    def __init__(self, module: str, file: str, section: str) -> None:
        self._module = module
        self._file = file
        self._section = section

    def __getattr__(self, name: str) -> frozenset[str]:
        if name.startswith("__"):  # Python asks for these of any object
            raise AttributeError(name)
        section = read_toml(self._module, self._file)[self._section]
        words = frozenset(section[name])
        setattr(self, name, words)
        return words


@dataclass(frozen=True)
class Plain:
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

    def word(self, class_name: str) -> str:
        """Return what a question calls a class."""
        if self.lower_case:
            return class_name.lower()
        return class_name

    def presence(self, objects: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
        """Turn the object names of n images into a table [n, classes].

        Raises:
            ValueError: if a name is not one of the classes.
        """
        names_of_images = class_names(objects)
        cells = len(names_of_images) * len(self.classes)
        limits.check(
            "cells", cells, f"A table of {len(names_of_images):,} texts and {len(self.classes):,} classes"
        )
        column_of = {name: column for column, name in enumerate(self.classes)}
        sizes = [len(names) for names in names_of_images]
        rows = np.repeat(np.arange(len(sizes)), sizes)
        try:  # the scores of given votes wait for this: no name is checked on its own
            columns = [column_of[name] for name in chain.from_iterable(names_of_images)]
        except (KeyError, TypeError):  # TypeError: what cannot be a key, such as a list
            self._check_names(names_of_images)
            raise
        table = np.zeros((len(sizes), len(self.classes)), dtype=bool)
        table[rows, columns] = True
        return table

    def _check_names(self, names_of_images: Sequence[Sequence[Any]]) -> None:
        """Check that every name is one of the classes."""
        known = set(self.classes)
        for row, names in enumerate(names_of_images):
            for name in names:
                if isinstance(name, str) and name in known:
                    continue
                hint = nearest(str(name)[:80], self.classes[:MOST_COMPARED])
                raise ValueError(
                    f"references[{row}] names {short_repr(name)}, which is not one of the {len(self.classes)} classes "
                    f"of the vocabulary {self.name!r}.{hint} To score another list of classes, pass vocabulary=[...]."
                ) from None

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
        missing = _beyond(classes, self.classes)
        unknown = _beyond(self.classes, classes)
        problems = []
        if missing:
            problems.append(f"lacks {len(missing):,} ({_examples(missing)})")
        if unknown:
            problems.append(f"has others: {len(unknown):,} ({_examples(unknown)})")
        if problems:
            raise BuildError(
                f"{where} does not have the {len(self.classes):,} categories of the vocabulary {self.name!r}: it "
                f"{' and '.join(problems)}. Every mention of a class that was not annotated would count as "
                "hallucinated. Get the complete annotations, or correct the names."
            )


def _beyond(known: Collection[str], names: Collection[str]) -> list[str]:
    """Return the names that are not among the known ones."""
    known = set(known)
    return [name for name in names if name not in known]


def _examples(names: Sequence[str]) -> str:
    """Return the first names for an error."""
    examples = ", ".join(short_repr(name) for name in names[:SHOWN])
    if len(names) > SHOWN:
        examples += ", ..."
    return examples


def load(vocabulary: str | Sequence[str] | Vocabulary) -> Vocabulary:
    """Find a built-in vocabulary by name, or make one from a list of class names.

    Raises:
        ValueError: if there is no vocabulary of this name, or if a class in the list has no name or one that another
            class has.
    """
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    if isinstance(vocabulary, str):
        return _builtin(vocabulary)
    import hashlib

    classes = _checked(vocabulary)
    builtin = _builtin_with(classes)
    if builtin is not None and builtin.classes == classes:
        return builtin
    digest = hashlib.sha256(json.dumps(classes).encode()).hexdigest()[:8]
    name = f"{CUSTOM}-{digest}"
    if builtin is None:
        return Vocabulary(name, classes)
    return Vocabulary(name, classes, plain=builtin.plain)


def _checked(vocabulary: Sequence[str]) -> tuple[str, ...]:
    """Check a user's list of class names."""
    expected = f"a list of class names, or one of {', '.join(names())}"
    classes = tuple(listed("vocabulary", vocabulary, expected))
    if not classes:
        raise ValueError(f"vocabulary is empty; expected {expected}.")
    limits.check("classes", len(classes), f"vocabulary, with {len(classes):,} names,")
    for index, name in enumerate(classes):
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"vocabulary[{index}] is {short_repr(name)}; expected a class name as text.")
    twice = sorted(name for name, times in Counter(classes).items() if times > 1)
    if twice:
        raise ValueError(f"vocabulary names {_examples(twice)} twice; name each class once.")
    return classes


def part_of(classes: Sequence[str]) -> Vocabulary:
    """Make a vocabulary of these classes, with the plurals and the lower case of a built-in one that has them all.

    Some of the built-in classes are asked about just as all of them ("Is there a cabinet/shelf", "Are there scissors").
    If no built-in vocabulary has all the classes, those are plurals that are plurals in any built-in vocabulary.
    """
    vocabulary = load(classes)
    builtin = _builtin_with(vocabulary.classes)
    if builtin is not None:
        return replace(vocabulary, plurals=builtin.plurals, lower_case=builtin.lower_case)
    known_plurals = set()
    for name in names():
        for plural in _builtin(name).plurals:
            known_plurals.add(plural.lower())
    plurals = set()
    for name in vocabulary.classes:
        if name.lower() in known_plurals:
            plurals.add(name)
    return replace(vocabulary, plurals=frozenset(plurals))


def _builtin_with(classes: Sequence[str]) -> Vocabulary | None:
    """Return the first built-in vocabulary that has all these classes."""
    for name in names():
        builtin = _builtin(name)
        if set(classes) <= set(builtin.classes):
            return builtin
    return None


def names() -> list[str]:
    """Return the names of the built-in vocabularies."""
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
    plain = {}
    for class_name, facts in table["plain"].items():
        plain[class_name] = Plain(**facts)
    return Vocabulary(
        name=name,
        classes=tuple(classes),
        plurals=frozenset(table["plurals"]),
        mentions=_with_words_of_coco(classes, table.get("as_in_coco", ())),
        lower_case=table.get("lower_case", False),
        plain=plain,
        groups=table.get("groups", {}),
    )


def _with_words_of_coco(
    mentions: Mapping[str, tuple[str, ...]], shared: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return the words for each class, with COCO's for the shared classes, but for words of another class."""
    if not shared:
        return mentions
    taken = set()  # the names of classes, their parts, and the words for them
    for name, words in mentions.items():
        taken.add(name.lower())
        taken.update(name.lower().split("/"))
        taken.update(words)
    extended = dict(mentions)
    for name in shared:
        words_of_coco = _builtin("coco").mentions[name.lower()]
        extended[name] += tuple(_beyond(taken, words_of_coco))
    return extended
