"""Fixtures for the tests of answering: a small dataset, and a tiny vision-language model."""

import pytest
from PIL import Image

from halluscope.answering import sources
from halluscope.answering.models import Vlm
from tests import tiny_vlm
from tests.harness import data as harness_data


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The folder of the model."""
    return tiny_vlm.make(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="session")
def vlm(model, one_thread):
    """The model, loaded."""
    return Vlm(str(model), "cpu")


@pytest.fixture(scope="session")
def source(data):
    """POPE's questions."""
    return sources.open_source(str(data / "pope"), harness_data.pictures(data, "pope"))


@pytest.fixture
def blank():
    return Image.new("RGB", (9, 9), (200, 0, 0))
