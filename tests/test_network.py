"""The Hub is out of reach: it is tried once, briefly, then the caches are used; libraries would try for minutes."""

import socket
from collections.abc import Iterator

import datasets
import pytest
from huggingface_hub import constants

from halluscope import network
from halluscope.errors import JudgeUnavailable
from halluscope.judging.resolve import find
from halluscope.network import hub_or_cache
from halluscope.reading.datasets import read_rows

PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[list]:
    """Record connection attempts, on a machine whose Hub answers at no port."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    connect, seen = socket.create_connection, []
    monkeypatch.setattr(socket, "create_connection", lambda *to: (seen.append(to), connect(*to))[1])
    yield seen
    assert not constants.HF_HUB_OFFLINE and not datasets.config.HF_HUB_OFFLINE


def test_it_is_tried_once_and_shortly(tried):
    with hub_or_cache() as there:
        assert not there and constants.HF_HUB_OFFLINE and datasets.config.HF_HUB_OFFLINE
    assert tried == [(("127.0.0.1", 9), network.PATIENCE_S)] and network.PATIENCE_S <= 10


def test_a_hub_that_answers_is_asked(tried, hub, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    with hub_or_cache() as there:
        assert there and not constants.HF_HUB_OFFLINE
    assert len(tried) == 1


@pytest.mark.parametrize("proxy", PROXIES)
def test_with_a_proxy_nothing_is_tried(tried, proxy, monkeypatch):
    monkeypatch.setenv(proxy, "http://127.0.0.1:9")
    with hub_or_cache() as there:
        assert there and not constants.HF_HUB_OFFLINE
    assert not tried


def test_what_a_user_set_stays(tried, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with hub_or_cache() as there:
        assert there and constants.HF_HUB_OFFLINE
    assert not tried and constants.HF_HUB_OFFLINE
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_a_dataset_on_a_hub_that_cannot_be_reached(tried, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"org/hqh cannot be loaded as a dataset \(the Hub cannot be reached\)\. Expected the",
    ):
        read_rows("org/hqh")
    assert len(tried) == 1


def test_a_judge_on_a_hub_that_cannot_be_reached(tried):
    with pytest.raises(
        JudgeUnavailable, match=r"nor can it be downloaded \(the Hub cannot be reached\)\. On a networked"
    ):
        find("flan-t5")
    assert len(tried) == 1
