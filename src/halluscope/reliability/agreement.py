"""Compares the classes that two methods read out of the same responses.

Source: THRONE, supplement, section 4 and Table 3, where two methods agree on 38,350 of 55,000 responses (69.7 %). They
agree on a response if both read the same classes out of it, found and hallucinated classes taken together. What is in
the image does not count here, so each method may have its own ground truth.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from halluscope.foreign import brief, one_line
from halluscope.signature import data_of, signature

AND = " and "
"""The text that joins the names of methods that agree."""

Key = tuple[str, str]
"""The name of the file of responses, and the image's id as text."""


@dataclass(frozen=True)
class Said:
    """The classes that a method reads out of a response.

    Attributes:
        found: the classes that are in the image.
        hallucinated: the classes that are not.
        text: the response.
    """

    found: frozenset[str]
    hallucinated: frozenset[str]
    text: str = ""

    @property
    def classes(self) -> frozenset[str]:
        """All classes that the method reads out of the response."""
        return self.found | self.hallucinated


@dataclass(frozen=True)
class Method:
    """A method, and the classes that it reads out of each response.

    Attributes:
        name: the method's name.
        said: response -> its classes.
    """

    name: str
    said: Mapping[Key, Said]


@dataclass(frozen=True)
class Both:
    """Two methods that read the same responses.

    Attributes:
        first: one method.
        second: the other method.
    """

    first: Method
    second: Method

    @property
    def names(self) -> tuple[str, str]:
        """The methods' names."""
        return self.first.name, self.second.name

    def agree(self, key: Key) -> bool:
        """Whether both read the same classes out of a response."""
        return self.first.said[key].classes == self.second.said[key].classes

    def classes(self, key: Key) -> frozenset[str]:
        """Return the classes that either method reads out of a response."""
        return self.first.said[key].classes | self.second.said[key].classes

    def who(self, key: Key, name: str) -> str:
        """Return the names of the methods that read this class out of a response."""
        return AND.join(one.name for one in (self.first, self.second) if name in one.said[key].classes)

    def is_false_positive(self, key: Key, name: str) -> bool:
        """Whether a method reads this class out of a response though it is not in the method's ground truth."""
        return any(name in one.said[key].hallucinated for one in (self.first, self.second))


def together(first: Method, second: Method) -> Both:
    """Pair two methods that read the same responses.

    Raises:
        ValueError: for two methods with one name, or with different responses.
    """
    both = Both(first, second)
    one, other = both.names
    if one == other or AND in one or AND in other:
        raise ValueError(
            f"The methods are called {one!r:.80} and {other!r:.80}; expected two different names without {AND!r}. "
            "Name them: METHOD=FOLDER."
        )
    for here, there in ((both.first, both.second), (both.second, both.first)):
        if lacking := sorted(here.said.keys() - there.said.keys()):
            raise ValueError(
                f"{one_line(there.name)} lacks {len(lacking):,} of the {len(here.said):,} responses that "
                f"{one_line(here.name)} has read, such as that of {_shown(lacking[0])}. Expected the same files of "
                "responses and the same images; score both methods on these."
            )
    if differ := [key for key in sorted(first.said) if first.said[key].text != second.said[key].text]:
        raise ValueError(
            f"{one_line(first.name)} and {one_line(second.name)} have read different texts for {len(differ):,} of the "
            f"responses, such as that of {_shown(differ[0])}. Expected the same responses; score both methods on these."
        )
    return both


def compare(both: Both) -> dict[str, Any]:
    """Measure how often two methods agree.

    Returns:
        `methods`, their names; `images`, the number of responses; `agree`, the number on which the methods agree;
        `agreement`, the share, in [0, 1]; `models`, the same for each model; `classes`, class -> the number of
        responses out of which "both" read it, only "first", and only "second"; `signature`.
    """
    agree = {key: both.agree(key) for key in sorted(both.first.said)}
    models = dict.fromkeys(model for model, _ in agree)
    return {
        "methods": list(both.names),
        **_share(list(agree.values())),
        "models": [
            {"responses": model, **_share([same for (of, _), same in agree.items() if of == model])}
            for model in models
        ],
        "classes": _classes(both),
        "signature": signature("agreement", data=data_of("responses", _compared(both)), methods=both.names),
    }


def each(both: Both) -> Iterator[dict[str, Any]]:
    """Yield, for each response, whether the methods agree, and the classes that both or only one of them read."""
    for key in sorted(both.first.said):
        one, other = (method.said[key].classes for method in (both.first, both.second))
        yield {
            "responses": key[0],
            "image_id": int(key[1]) if key[1].isdecimal() else key[1],
            "agree": one == other,
            "both": sorted(one & other),
            "first": sorted(one - other),
            "second": sorted(other - one),
        }


def _share(agree: list[bool]) -> dict[str, Any]:
    return {"images": len(agree), "agree": sum(agree), "agreement": sum(agree) / len(agree)}


def _classes(both: Both) -> dict[str, dict[str, int]]:
    """Count the responses that each class is read out of; the classes with most disagreement come first."""
    found = {
        part: Counter(name for row in each(both) for name in row[part])
        for part in ("both", "first", "second")
    }
    names = sorted({name for counts in found.values() for name in counts})
    names.sort(key=lambda name: -(found["first"][name] + found["second"][name]))
    return {name: {part: counts[name] for part, counts in found.items()} for name in names}


def _compared(both: Both) -> Iterator[list[str]]:
    for key, said in both.first.said.items():
        yield [*key, *sorted(said.classes), "", *sorted(both.second.said[key].classes)]


def method(name: str, rows: Iterable[tuple[str, str, Mapping[str, Any]]]) -> Method:
    """Collect the classes that a method reads out of responses.

    Args:
        name: the method's name.
        rows: for each response, the name of its file of responses, its text, and the method's row about it.

    Raises:
        ValueError: for rows that do not say which classes were found and which were hallucinated, for a repeated
            response, or if there are no rows.
    """
    said: dict[Key, Said] = {}
    for responses, text, found in rows:
        key, one = _said(responses, text, found)
        if key in said:
            raise ValueError(f"{one_line(name)}: the response of {_shown(key)} occurs twice.")
        said[key] = one
    if not said:
        raise ValueError(f"{one_line(name)} holds no rows; expected at least one response.")
    return Method(name, said)


def _said(responses: Any, text: Any, found: Mapping[str, Any]) -> tuple[Key, Said]:
    lists, image = [found.get(name) for name in ("found", "hallucinated")], found.get("image_id")
    if not all(map(_are_names, lists)) or not _is_key(responses, image):
        raise ValueError(
            f"A row of {brief(responses)} is {brief(found, 120)}; expected a run that reads classes out of "
            "descriptions: rows with image_id, and with lists of class names in found and hallucinated."
        )
    one = Said(frozenset(found["found"]), frozenset(found["hallucinated"]), str(text))
    return (responses, str(image)), one


def _shown(key: Key) -> str:
    model, image = (one_line(part, 80) for part in key)
    return f"{model} to the image {image}"


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) and name for name in names)


def _is_key(model: Any, image: Any) -> bool:
    return isinstance(model, str) and isinstance(image, int | str) and not isinstance(image, bool)
