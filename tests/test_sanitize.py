"""Foreign text: it cannot control a terminal, and reveals no access key."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.sanitize import BLACKED, WITHHELD, external_text, one_line, printable, short_repr

KEY = "sk-t/est+0123=\u00e4"


@given(st.text(st.characters(codec=None)))
def test_nothing_steers_a_terminal(text):
    line = one_line(text)
    assert line.isprintable() or not any(ord(sign) < 32 or 126 < ord(sign) < 160 for sign in line)
    line.encode()  # and no half character is left
    assert set(printable(text)) & {"\x1b", "\r", "\x07", "\u202e", "\x9b"} == set()


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_SERVERS_KEY", "HF_TOKEN", "DB_PASSWORD", "hf_token"])
def test_a_key_is_blacked_out_however_it_is_spelt(name, monkeypatch):
    monkeypatch.setenv(name, f" {KEY}\n")
    for spelt in (KEY, quote(KEY), quote(KEY, safe=""), json.dumps(KEY), repr(KEY)):
        for shown in (
            printable(f"a {spelt} b"),
            one_line(spelt),
            short_repr(f"{spelt} b"),
            external_text(spelt),
        ):
            assert BLACKED in shown and "0123" not in shown, spelt


def test_a_text_that_repeats_a_short_key_is_withheld(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "short")
    assert external_text("the key is short") == WITHHELD and printable("short") == "short"


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, [1] * 10**6, 10**5000, {"a": [{}] * 99}, object(), "\ud800", b"\xff" * 999],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_shown_briefly(value):
    shown = short_repr(value)
    assert shown and len(shown) <= 80 and "\n" not in shown
    shown.encode()
