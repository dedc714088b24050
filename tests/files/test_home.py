"""A name that begins with "~" is a file or folder in the user's home, wherever a user may name one."""

import json
from pathlib import Path

import pytest

import halluscope
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore")

RESPONSES = "\n".join(json.dumps({"image_id": image_id, "response": "A dog."}) for image_id in (10, 20, 30))
SCORED = {"judges": "lexical", "bootstrap": 0}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a dataset and responses; the working directory is another, empty one."""
    folder, work = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(work)
    small_datasets.build("throne_coco", folder)
    (folder / "mine.jsonl").write_text(RESPONSES)
    return folder


def test_a_tilde_is_the_home_folder_in_python(home: Path) -> None:
    result = halluscope.score("throne", "~/mine.jsonl", "~/throne_coco", out="~/runs/a", **SCORED)
    assert result["recall_all"] == 1 / 3  # a dog is found, a person and a cup are not
    assert (home / "runs" / "a" / "scores.json").is_file()
    halluscope.score("throne", {"B": "~/mine.jsonl"}, Path("~/throne_coco"), out=Path("~/runs/b"), **SCORED)
    assert halluscope.verify("~/runs") == {str(home / "runs" / name): [] for name in "ab"}
    assert halluscope.compare("~/runs/a", "~/runs/b", bootstrap=10)["rows"] == 3
    with pytest.raises(ValueError, match="is there already"):
        halluscope.score("throne", "~/mine.jsonl", "~/throne_coco", out="~/runs/a", **SCORED)
    with pytest.raises(FileNotFoundError, match="There is no file ~nobody-here/a.jsonl"):
        halluscope.score("throne", "~nobody-here/a.jsonl", "~/throne_coco", **SCORED)
    assert not list(Path.cwd().iterdir())


def test_from_the_command_line(home: Path, ran) -> None:
    """Where a shell leaves "~" to the program: after "=", in "NAME=FILE", in quotes."""
    words = "score throne --responses A=~/mine.jsonl --dataset=~/throne_coco --judges lexical"
    ran(f"{words} --out=~/run --store=~/kept.sqlite")
    ran("report ~/run --out=~/page.html --bootstrap 0")
    ran("inspect ~/mine.jsonl")
    ran("verify ~/run")
    assert {"run", "page.html"} <= {path.name for path in home.iterdir()}
    assert not list(Path.cwd().iterdir())
