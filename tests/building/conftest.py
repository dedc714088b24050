"""A small copy of every dataset, built once."""

from pathlib import Path

import pytest

from tests import small_datasets


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small copy of every dataset; tests change copies only."""
    folder = tmp_path_factory.mktemp("built")
    for name in small_datasets.BUILDS:
        small_datasets.build(name, folder)
    return folder
