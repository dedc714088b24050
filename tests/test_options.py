"""Options that are declared once, in a dataclass's fields."""

from dataclasses import dataclass

import pytest

from halluscope.options import Option, check_values, declared, described, option


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What both have."""

    at_once: int = option(2, "how many at once (default: 2)", type=int, least=1, most=9, metavar="N")
    progress: bool = option(True, about="show a bar", flag=True)

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True)
class Own(Shared):
    """What one has."""

    name: str = option(help="whose it is", about="a name of its own")
    kind: str = option("plain", "its kind", choices=("plain", "other"))
    share: float = option(0.5, "its share", type=float, most=1, what="a share")
    place: str | None = option(None, "its place", kinds=str | None, what="a folder")


def test_the_command_line_has_those_with_help_and_the_own_ones_first():
    assert [one.name for one in declared(Own)] == ["name", "kind", "share", "place", "at_once"]
    assert declared(Own)[-1] == Option("at_once", "how many at once (default: 2)", int, metavar="N")


def test_python_is_told_all():
    assert described(Own).startswith("What one has.\n\nAttributes:\n    name: a name of its own.\n")
    assert described(Own).endswith("    progress: show a bar.")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"at_once": 0}, "at_once is 0; expected a whole number from 1 to 9."),
        ({"at_once": True}, "at_once is True; expected a whole number"),
        ({"progress": "no"}, "progress is 'no'; expected True or False."),
        ({"kind": "strange"}, "kind is 'strange'; expected 'plain' or 'other'."),
        ({"share": 1.5}, "share is 1.5; expected a share from 0 to 1."),
        ({"place": 3}, "place is 3; expected a folder."),
    ],
)
def test_a_value_out_of_range_or_of_another_kind(values, message):
    with pytest.raises(ValueError, match=message):
        Own("mine", **values)
    assert Own("mine").at_once == 2
