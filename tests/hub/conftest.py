"""This process as a user of the stand-in for the Hub."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from halluscope.cli import main
from tests.standin_hub import TOKEN, StandInHub


@pytest.fixture
def online(hub: StandInHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This process also uses the stand-in, with an empty cache."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def published(capsys):
    """Run `halluscope publish`, which ends with this status; return its output, which never contains the token."""

    def publish(*words, ends=0):
        capsys.readouterr()
        status = main(["publish", *map(str, words)])
        said = "".join(capsys.readouterr())
        assert status == ends, said
        assert TOKEN not in said
        return said

    return publish
