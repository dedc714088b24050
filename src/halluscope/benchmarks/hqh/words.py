"""The words by which `halluscope.benchmarks.hqh.contains` finds a right answer in a response; words.toml lists them."""

from halluscope.vocabularies import read_toml

TABLE = read_toml(__file__, "words.toml")

DENIES = frozenset(TABLE["denies"])
DEGREES = frozenset(TABLE["degrees"])
EMPTY = frozenset(TABLE["empty"])
UNITS: list[str] = TABLE["units"]
TENS: list[str] = TABLE["tens"]
SPELLINGS: dict[str, str] = TABLE["spellings"]


def numbers_by_name() -> dict[str, int]:
    """Return the number of each word for a number."""
    numbers = {"single": 1, "hundred": 100}
    for number, name in enumerate(UNITS):
        numbers[name] = number
    for number, name in enumerate(TENS, start=2):
        numbers[name] = 10 * number
    return numbers


NUMBERS = numbers_by_name()
