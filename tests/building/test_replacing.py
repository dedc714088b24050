"""A build replaces only files that an earlier build wrote, by its mark, and only if they are unchanged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from datasets import load_dataset

from halluscope import cli
from halluscope.building import build_info
from halluscope.files import writing
from halluscope.paths import share
from tests import small_datasets
from tests.files.disk import content


@pytest.fixture
def source(built: Path) -> Path:
    """Small versions of pope's official files."""
    return built / "pope-inputs"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with files of the user's."""
    out = tmp_path / "place" / "out"
    (out / "deep").mkdir(parents=True)
    (out / "notes.txt").write_text("mine")
    (out / "deep" / "answers.jsonl").write_text("mine")
    (out / "link").symlink_to("notes.txt")
    return out


def build(source: Path, out: Path, *more: str) -> int:
    return cli.main(["build", "pope", "--source", str(source), "--subset", "--out", str(out), *more])


def refused(source: Path, out: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """Return the message of a refusal, after checking that nothing was changed."""
    before = content(out.parent)
    assert build(source, out, *more) == 2
    assert content(out.parent) == before
    return capsys.readouterr().err


def is_whole(out: Path) -> bool:
    """Whether a folder holds a build, and the user's files."""
    kept = [(out / name).read_text() for name in ("notes.txt", "deep/answers.jsonl", "link")]
    rows = load_dataset(str(out), "coco", split="test", cache_dir=str(out.parent.parent / "hf"))
    return kept == ["mine"] * 3 and len(rows) == 18 and (out / "link").is_symlink()


# Never the user's


@pytest.mark.parametrize("more", [[], ["--force"]])
@pytest.mark.parametrize("name", ["README.md", "data/coco/mine.txt"])
def test_a_file_of_the_users(
    name: str, more: list[str], source: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text("mine")
    said = refused(source, out, capsys, *more)
    assert f"{out / name} was not written by a build" in said and "Move it away" in said


def _link(out: Path) -> None:
    (out / "README.md").rename(out / "elsewhere.md")
    (out / "README.md").symlink_to("elsewhere.md")


def _link_the_mark(out: Path) -> None:
    (out / build_info.MANIFEST).rename(out / "elsewhere.json")
    (out / build_info.MANIFEST).symlink_to("elsewhere.json")


EDITED: dict[str, tuple[Callable[[Path], object], str]] = {
    "README.md": (lambda out: (out / "README.md").write_text("mine"), "README.md is no longer what"),
    "a shard": (lambda out: next((out / "data/coco").iterdir()).write_text("mine"), ".parquet is no longer"),
    "more folders": (lambda out: (out / "data/mine").mkdir(), "mine was not written by a build"),
    "a link": (_link, "README.md is no longer what"),
    "a link for the mark": (_link_the_mark, f"{build_info.MANIFEST} is a link"),
    "no mark": (lambda out: (out / build_info.MANIFEST).unlink(), "README.md was not written by a build"),
}


@pytest.mark.parametrize("more", [[], ["--force"]])
@pytest.mark.parametrize("what", EDITED)
def test_what_was_changed_since(
    what: str, more: list[str], source: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(source, out) == 0
    change, message = EDITED[what]
    change(out)
    said = refused(source, out, capsys, *more)
    assert message in said and "name another folder with --out" in said


@pytest.mark.parametrize(
    "files",
    [5, {"notes.txt": "0" * 64}, {"data/../notes.txt": "0" * 64}, {"README.md": "x"}, {"README.md": 5}, None],
)
def test_a_mark_that_no_build_left(
    files: object, source: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / build_info.MANIFEST).write_text(json.dumps({"about": "", "files": files}))
    said = refused(source, out, capsys, "--force")
    assert build_info.MANIFEST in said and "It should list the files in" in said
    (out / build_info.MANIFEST).write_text("[" * 200_000)
    assert "is not JSON" in refused(source, out, capsys, "--force")


def test_all_else_stays_through_each_build(
    source: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(out)
    assert build(source, out) == 0 and is_whole(out)
    assert "holds a build already; pass --force" in refused(source, out, capsys)
    assert build(source, out, "--force", "--configs", "coco") == 0
    assert [entry.name for entry in (out / "data").iterdir()] == ["coco"]
    for _ in range(2):
        assert build(source, out, "--force") == 0 and is_whole(out)
        assert content(out).items() >= before.items()
    assert [entry.name for entry in out.parent.iterdir()] == ["out"]
    listed = {*json.loads((out / build_info.MANIFEST).read_text())["files"], build_info.MANIFEST}
    assert {*content(out)} == {*before} | listed


def test_a_folder_with_the_spec_alone_is_new(
    source: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As datasets/NAME is in a checkout."""
    spec = share("datasets", "pope", "spec.toml")
    shutil.copy(spec, out)
    assert build(source, out) == 0 and is_whole(out)


# Where


def test_what_is_no_place_for_a_folder(
    source: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (out.parent / "file").write_text("")
    assert "is a file; expected a folder" in refused(source, out.parent / "file", capsys)
    assert build(source, out) == 0
    monkeypatch.chdir(out)
    assert "is or holds the working directory" in refused(source, out, capsys, "--force")


def test_what_is_read_is_not_replaced(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source is in the target folder: it may stay next to the build, but a build cannot be its own source."""
    home = tmp_path / "home"
    shutil.copytree(source, home)
    upstream = content(home)
    for _ in range(2):
        assert build(home, home, "--force") == 0
        assert content(home).items() >= upstream.items()
    throne = small_datasets.build("throne_coco", tmp_path / "datasets")
    (tmp_path / "link").symlink_to(throne)
    monkeypatch.chdir(tmp_path)
    before = content(throne)
    for given in ([], ["--source", str(throne)], ["--source", str(tmp_path / "link")]):
        for out in (throne, tmp_path / "link"):
            assert cli.main(["build", "pope_c", *given, "--out", str(out), "--force", "--subset"]) == 2
            assert "is read for this build, and --out" in capsys.readouterr().err
            assert content(throne) == before


# All or nothing


def test_an_interrupted_build_is_whole_or_leaves_the_old_one(
    source: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build(source, out) == 0
    capsys.readouterr()

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for where in ("halluscope.building.output.write_manifest", "halluscope.building.output.Order.target"):
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(where, stop)
            before = content(out.parent)
            assert build(source, out, "--force") == 130
            assert capsys.readouterr().err == "halluscope: interrupted; nothing was changed.\n"
            assert content(out.parent) == before
    monkeypatch.setattr(writing, "_keep_what_came", stop)
    assert build(source, out, "--force") == 130
    assert capsys.readouterr().err == f"halluscope: interrupted; {out} is complete.\n" and is_whole(out)
    monkeypatch.undo()
    assert build(source, out, "--force") == 0 and [entry.name for entry in out.parent.iterdir()] == ["out"]
