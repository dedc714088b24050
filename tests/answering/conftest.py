"""Fixtures for the tests of answering: small datasets, and a tiny vision-language model."""

from pathlib import Path

import pytest

from halluscope.answering.models import Vlm
from tests import tiny_vlm
from tests.harness import data as harness_data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of datasets by name."""
    return harness_data.build_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model."""
    return tiny_vlm.make(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="session")
def vlm(model: Path, one_thread: None) -> Vlm:
    """The model, loaded."""
    return Vlm(str(model), "cpu")
