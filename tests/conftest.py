"""What several tests need: the tiny T5, votes that a seed makes, and a folder of upstream files if there is one."""

import os
from pathlib import Path

import numpy as np
import pytest

TESTS = Path(__file__).parent


@pytest.fixture(scope="session")
def tiny_t5() -> Path:
    """The checkpoint that tests/tiny_t5/train.py made."""
    return TESTS / "tiny_t5" / "checkpoint"


@pytest.fixture
def upstream() -> Path:
    """The folder of upstream files that HALLUSCOPE_UPSTREAM names; without it the test is skipped."""
    folder = os.environ.get("HALLUSCOPE_UPSTREAM")
    if not folder:
        pytest.skip("set HALLUSCOPE_UPSTREAM to a folder of upstream files to run this")
    return Path(folder)


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's store, and none reaches for the network."""
    monkeypatch.setenv("HALLUSCOPE_STORE", str(tmp_path / "answers.sqlite"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
