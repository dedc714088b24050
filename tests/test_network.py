"""Whether the Hub is there is found out in one attempt, and libraries are told only for as long as it matters."""

import socket

import datasets
import pytest
from huggingface_hub import constants

from halluscope.network import hub_or_cache


@pytest.fixture(autouse=True)
def _asks(monkeypatch):
    """As where the user has not switched the Hub off; no proxy stands before it."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_a_hub_that_is_there(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        with hub_or_cache() as there:
            assert there and not constants.HF_HUB_OFFLINE


def test_a_hub_that_is_not_there(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed}")
    before = datasets.config.HF_HUB_OFFLINE
    with pytest.raises(KeyError), hub_or_cache() as there:
        assert not there and constants.HF_HUB_OFFLINE and datasets.config.HF_HUB_OFFLINE
        raise KeyError
    assert not constants.HF_HUB_OFFLINE and datasets.config.HF_HUB_OFFLINE == before


def test_where_the_user_says_offline_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "ENDPOINT", "http://192.0.2.1")  # would take the whole patience
    with hub_or_cache() as there:
        assert there
