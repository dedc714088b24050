"""A disk to which nothing more can be written: one line that names the place and says what to do, and nothing half."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import halluscope
from halluscope.errors import OutputError
from tests import small_datasets
from tests.files.disk import content, full

pytestmark = pytest.mark.filterwarnings("ignore")

RESPONSES = [{"image_id": image_id, "response": "A dog."} for image_id in (10, 20, 30)]
REMEDY = "cannot be written: File too large. "


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset, responses to it, and a run; the working directory holds them."""
    monkeypatch.chdir(tmp_path)
    small_datasets.build("throne_coco", tmp_path)
    Path("mine.jsonl").write_text("\n".join(map(json.dumps, RESPONSES)))
    halluscope.score("throne", "mine.jsonl", "throne_coco", judges="lexical", out="run")
    return tmp_path


SCORE = "score throne --responses mine.jsonl --dataset ./throne_coco --judges lexical"


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (f"{SCORE} --out new/run", "new/run"),
        ("report run --bootstrap 0 --out page.html", "page.html"),
        ("report run --figures figures", "figures"),
        ("study parallel throne.jsonl --out form.jsonl", "form.jsonl"),
        ("study sheet make throne.jsonl --sample 1 --out sheet", "sheet"),
        ("build throne_coco --subset --source throne_coco-inputs --no-images --out built", "built"),
    ],
)
def test_the_place_is_named(files: Path, words: str, place: str, ran) -> None:
    row = {"image_id": 1, "question": "Is there a dog in the image?", "answer": "yes"}
    Path("throne.jsonl").write_text(json.dumps(row))
    before = content(files)
    with full(at=50):
        err = ran(words, status=2).err
    assert f"{place} {REMEDY}" in err and "ulimit" in err and "Traceback" not in err
    assert content(files) == before
    ran(words)


def test_a_call_raises_what_both_kinds_of_handlers_catch(files: Path) -> None:
    with full(at=50), pytest.raises(OSError, match=f"out {REMEDY}") as refused:
        halluscope.score("throne", "mine.jsonl", "throne_coco", judges="lexical", out="out")
    assert isinstance(refused.value, OutputError) and not Path("out").exists()


def test_the_output_itself(files: Path) -> None:
    """`> /dev/full` is a disk without room; errors that cannot be told leave the exit status."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "halluscope"]
    with Path("/dev/full").open("w") as nowhere:
        shown = [*command, "list"]
        ended = subprocess.run(
            shown, env=environment, stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False
        )
        assert ended.returncode == 2
        assert "The output cannot be written: No space left on device" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
        wrong = [*command, "verify", "nowhere"]
        ended = subprocess.run(
            wrong, env=environment, stdout=subprocess.PIPE, stderr=nowhere, text=True, check=False
        )
        assert ended.returncode == 2 and ended.stdout == ""
