"""Limits by name: input beyond a limit is refused, and the error says how to raise the limit."""

import pytest

from halluscope import limits
from halluscope.errors import LimitExceeded


@pytest.mark.parametrize("name", limits.LIMITS)
def test_what_an_error_says_to_do_helps(name):
    amount = limits.LIMITS[name].default + 1
    with pytest.raises(LimitExceeded, match=rf"a thing is larger than the limit '{name}'") as refused:
        limits.check(name, amount, "a thing")
    option = str(refused.value).partition(f"{limits.OPTION} ")[2].partition(" ")[0]
    with limits.given(option):
        limits.check(name, amount, "a thing")
    with pytest.raises(LimitExceeded):
        limits.check(name, amount, "a thing")


def test_the_environment_and_the_option(monkeypatch):
    monkeypatch.setenv(limits.VARIABLE, "reply=1KB,pixels=2M")
    assert (limits.most("reply"), limits.most("pixels")) == (1000, 2_000_000)
    with limits.given("reply=2KiB"):
        assert (limits.most("reply"), limits.most("pixels")) == (2048, 2_000_000)
    assert limits.most("reply") == 1000


@pytest.mark.parametrize(
    "written", ["reply", "reply=", "reply=much", "answers=5", "reply=-1", "reply=1XB", "=5"]
)
def test_what_is_no_limit(written):
    with pytest.raises(ValueError, match="is no limit|expected NAME=AMOUNT"), limits.given(written):
        pass
