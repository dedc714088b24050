"""Other outputs of commands are written completely or not at all, and never overwrite anything."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from halluscope import cli
from tests.files.disk import content, full

ROWS = [
    {"question_id": n, "image": "a.jpg", "text": f"Is there a {thing} in the image?", "label": "yes"}
    for n, thing in enumerate(("dog", "cat", "cup"))
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Rows in their own folder."""
    (tmp_path / "in").mkdir()
    Image.effect_noise((64, 64), 90).save(tmp_path / "in" / "a.jpg")
    source = tmp_path / "in" / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return source


def command(kind: str, source: Path, out: Path) -> list[str]:
    return {
        "review": f"study sheet make {source} --sample 2 --images {source.parent} --out {out}",
        "lines": f"study parallel {source} --out {out}.jsonl --first {out}-first.jsonl",
        "folders": f"study parallel {source} --out {out} --first {out}-first",
        "both": f"study parallel {source} --out {out} --first {out}-first.jsonl",
    }[kind].split()


KINDS = ("review", "lines", "folders", "both")


@pytest.mark.parametrize("at", [0, 100, 600])
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_leaves_nothing(
    kind: str, at: int, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    before = content(tmp_path)
    with full(at):
        status = cli.main(command(kind, source, tmp_path / "out" / "it"))
    if kind == "lines" and at == 600:  # as much as there is to write
        assert status == 0
        return
    assert status == 2 and content(tmp_path) == before, capsys.readouterr().err
    assert not list((tmp_path / "out").iterdir())
    assert cli.main(command(kind, source, tmp_path / "out" / "it")) == 0
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name.startswith(".")]


MADE = {
    "review": ("out/sheet.csv", "out/page.html"),
    "lines": ("out.jsonl", "out-first.jsonl"),
    "folders": ("out", "out-first"),
    "both": ("out", "out-first.jsonl"),
}


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in MADE.items() for name in names])
def test_what_is_there_stays(
    kind: str, name: str, link: bool, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    if link:
        (tmp_path / name).symlink_to("nowhere")
    else:
        (tmp_path / name).write_text("mine")
    before = content(tmp_path)
    assert cli.main(command(kind, source, tmp_path / "out")) == 2
    assert re.search("name (another|a new)", capsys.readouterr().err) and content(tmp_path) == before
