"""Publishing, against a stand-in for the Hub on loopback that commits, tags and refuses as the Hub does."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from huggingface_hub import HfApi, constants

from halluscope import __version__, registry
from halluscope.benchmarks.throne import metric as throne
from halluscope.building import spec as specs
from halluscope.cli import main
from halluscope.hub import contents
from halluscope.hub.publisher import Hub, Publication
from halluscope.paths import share
from tests import small_datasets
from tests.standin_hub import TOKEN, Answer, StandInHub

pytestmark = [
    pytest.mark.usefixtures("online"),
    pytest.mark.filterwarnings("ignore:Use .content:DeprecationWarning"),  # huggingface_hub's own
]

TEXTS = ["A person drinks from a cup.", "A dog on a lawn.", "A dog runs."]
DATA = "data/validation-00000-of-00001.parquet"
PACKAGE = "https://example.org/halluscope.whl"
"""What Spaces install in these tests, unless one says otherwise."""


@pytest.fixture(scope="module")
def throne_coco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small throne_coco."""
    return small_datasets.build("throne_coco", tmp_path_factory.mktemp("built"))


@pytest.fixture
def built(throne_coco: Path, tmp_path: Path) -> Path:
    """A folder with a small throne_coco, for tests to change."""
    shutil.copytree(throne_coco, tmp_path / "built" / "throne_coco")
    return tmp_path / "built"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run a command; return its status and output, which never contains the token."""
    package = ["--package", PACKAGE] if arguments[0] == "metric" and "--package" not in arguments else []
    status = main(["publish", *arguments, *package])
    said = "".join(capsys.readouterr())
    assert TOKEN not in said
    return status, said


def upload(capsys: pytest.CaptureFixture[str], built: Path, *more: str) -> tuple[int, str]:
    return run(capsys, *throne_coco_in(built), *more)


def throne_coco_in(built: Path) -> list[str]:
    """The arguments of `halluscope publish` that upload throne_coco."""
    return ["dataset", "throne_coco", "--org", "acme", "--folder", str(built), "--subset", "--upload"]


def other_spec(monkeypatch: pytest.MonkeyPatch, folder: Path, **changes: str) -> specs.Spec:
    """Replace throne_coco's spec by one with other facts."""
    text = share("datasets", "throne_coco", "spec.toml").read_text()
    for key, value in changes.items():
        line = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(line, f"{key} = {value}")
    file = folder / f"{'-'.join(changes)}-spec.toml"
    file.write_text(text)
    spec = specs.read(file)
    monkeypatch.setattr(specs, "load", lambda name: spec)
    return spec


# What is published


@pytest.mark.long
def test_every_dataset_and_metric_is_published_and_loads(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {*contents.datasets()} <= {*small_datasets.BUILDS}  # a new dataset needs a small copy
    names = [name for name in contents.datasets() if name not in contents.unlicensed()]
    for name in names:
        small_datasets.build(name, tmp_path / "built")
    of_datasets = ["dataset", "all", "--org", "acme", "--folder", str(tmp_path / "built"), "--subset"]
    of_metrics = ["metric", "all", "--org", "acme", "--public"]

    status, said = run(capsys, *of_datasets)  # a dry run
    assert status == 0 and "dry run; nothing was changed" in said and not hub.repositories
    for name in names:
        assert f"dataset acme/{name}, version " in said
        for file in (tmp_path / "built" / name / "data").rglob("*.parquet"):
            assert file.relative_to(tmp_path / "built" / name).as_posix() in said
    for name in contents.unlicensed():
        assert f"left out: {name} has no licence" in said

    for command in (of_datasets, of_metrics):
        status, said = run(capsys, *command, "--upload")
        assert status == 0, said
    assert {name for kind, name in hub.repositories if kind == "dataset"} == {
        f"acme/{name}" for name in names
    }
    assert {name for kind, name in hub.repositories if kind == "space"} == {
        f"acme/{name}" for name in contents.metrics()
    }
    for (kind, _), repository in hub.repositories.items():
        assert repository.private is (kind == "dataset")
        tag = "v1.0.0" if kind == "dataset" else f"halluscope-{__version__}"
        assert repository.tags == {tag: repository.head}

    heads = {name: repository.head for name, repository in hub.repositories.items()}
    for command in (of_datasets, of_metrics):
        status, said = run(capsys, *command, "--upload")
        assert status == 0 and "published" not in said
        assert said.count("there already; nothing was changed") == said.count("nothing to do") > 0
    assert {name: repository.head for name, repository in hub.repositories.items()} == heads

    # Somebody else's process, with nothing in its caches.
    code = """
import json, sys, datasets, evaluate
names, texts = json.loads(sys.argv[1]), json.loads(sys.argv[2])
rows = {}
for name in names:
    for config in datasets.get_dataset_config_names(f"acme/{name}"):
        for split, held in datasets.load_dataset(f"acme/{name}", config).items():
            rows[f"{name}/{config}/{split}"] = held.to_list()
    streamed = datasets.load_dataset("acme/throne_coco", split="validation", streaming=True)
objects = [row["objects"] for row in rows["throne_coco/default/validation"]]
score = evaluate.load("acme/throne").compute(predictions=texts, references=objects, judges="lexical")
print(json.dumps({"rows": rows, "streamed": list(streamed), "score": score}))
"""
    there = subprocess.run(
        [sys.executable, "-c", code, json.dumps(names), json.dumps(TEXTS)],
        env=hub.environment(tmp_path / "elsewhere"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert there.returncode == 0, there.stderr
    loaded = json.loads(there.stdout.splitlines()[-1])
    for name in names:
        stats = json.loads((tmp_path / "built" / name / "stats.json").read_text())
        for table in stats["tables"]:
            expected = pq.read_table([tmp_path / "built" / name / shard["file"] for shard in table["shards"]])
            assert loaded["rows"][f"{name}/{table['config']}/{table['split']}"] == expected.to_pylist()
    assert loaded["streamed"] == loaded["rows"]["throne_coco/default/validation"]
    assert loaded["score"] == throne.compute(TEXTS, small_datasets.OBJECTS, judges="lexical")


def test_what_a_dry_run_shows(built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = run(capsys, "dataset", "throne_coco", "--org", "acme", "--folder", str(built), "--subset")
    assert status == 0 and not hub.repositories
    lines = said.splitlines()
    assert lines[0].startswith("dataset acme/throne_coco, version 1.0.0: 4 files (")
    assert lines[0].endswith("go to a new private repository, tag v1.0.0 is set")
    kilobytes = (built / "throne_coco" / DATA).stat().st_size / 1000
    assert f"  new         {kilobytes:.1f} kB  {DATA}" in lines
    assert [line.split()[-1] for line in lines[1:5]] == ["README.md", DATA, "spec.toml", "stats.json"]
    changing = [line for line in hub.requests if not line.startswith(("GET", "HEAD"))]
    assert changing == []


def test_the_card_there_says_how_to_load_from_there(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upload(capsys, built)[0] == 0
    assert run(capsys, "metric", "throne", "--org", "me", "--upload")[0] == 0
    assert b'load_dataset("acme/throne_coco"' in hub["dataset", "acme/throne_coco"].files["README.md"]
    assert b'evaluate.load("me/throne")' in hub["space", "me/throne"].files["README.md"]
    files = {".gitattributes", "README.md", "app.py", "requirements.txt", "throne.py"}
    assert set(hub["space", "me/throne"].files) == files
    assert hub["space", "me/throne"].private


def test_a_new_card_goes_to_main_and_the_tag_stays(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(capsys, built)
    before = hub["dataset", "acme/throne_coco"].head
    render = contents.output.card
    monkeypatch.setattr(contents.output, "card", lambda *what: render(*what) + "\nA better word.\n")
    status, said = upload(capsys, built)
    assert status == 0 and "its tag stays where it is" in said
    repository = hub["dataset", "acme/throne_coco"]
    assert b"A better word." in repository.files["README.md"]
    assert repository.tags == {"v1.0.0": before} and repository.head != before
    assert "nothing was changed" in upload(capsys, built)[1]


def test_changed_data_need_a_new_version(
    built: Path,
    hub: StandInHub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upload(capsys, built)
    repository = hub["dataset", "acme/throne_coco"]
    first, data = repository.head, repository.files[DATA]
    changed = tmp_path / "changed"
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(small_datasets, "_coco", _more)
        small_datasets.build("throne_coco", changed)
        status, said = upload(capsys, changed)
        assert status == 2 and "has a version 1.0.0 (tag v1.0.0) with other data" in said and DATA in said
        assert repository.head == first

        spec = other_spec(meanwhile, tmp_path, version='"1.1.0"')
        small_datasets.build("throne_coco", changed, spec=spec, force=True)
        status, said = upload(capsys, changed)
        assert status == 0, said
    assert set(repository.tags) == {"v1.0.0", "v1.1.0"} and repository.tags["v1.1.0"] == repository.head
    assert repository.commits[repository.tags["v1.0.0"]][DATA] == data != repository.files[DATA]

    # An older checkout, whose version is there: nothing to do. One whose version never was: refused.
    assert "nothing was changed" in upload(capsys, built)[1]
    del repository.tags["v1.0.0"]
    status, said = upload(capsys, built)
    assert status == 2 and "holds version 1.1.0, later than 1.0.0" in said


def _more(classes: dict[int, str], file_name: str) -> dict[str, Any]:
    ids = list(classes)
    return {
        "images": [
            {"id": i, "file_name": file_name.format(i), "width": 8, "height": 6} for i in (10, 20, 30, 40)
        ],
        "annotations": [{"id": 1, "image_id": 40, "category_id": ids[0], "iscrowd": 0, "bbox": [0, 0, 3, 3]}],
        "categories": [{"id": i, "name": name} for i, name in classes.items()],
    }


def test_what_somebody_took_from_main_is_put_back(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(capsys, built)
    repository = hub["dataset", "acme/throne_coco"]
    whole = dict(repository.files)
    repository.commit({path: held for path, held in whole.items() if path != DATA})
    status, said = upload(capsys, built)
    assert status == 0 and "published; its tag stays where it is" in said
    assert repository.files == whole

    repository.commit(whole | {"LICENSE": b"theirs"})
    status, said = upload(capsys, built)
    assert status == 2 and "holds 'LICENSE', which is not in version 1.0.0 (tag v1.0.0)" in said
    repository.commit({path: held for path, held in whole.items() if path != "spec.toml"})
    status, said = upload(capsys, built)
    assert status == 2 and "but no spec.toml of ours that says its version" in said


# Interrupted


@pytest.mark.parametrize("at", [r"PUT /_large/", r"POST .*/commit/", r"POST .*/tag/"])
@pytest.mark.long
def test_killed_and_repeated_it_ends_complete(
    at: str, built: Path, hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with hub.holding(at) as came:
        process = subprocess.Popen(
            [sys.executable, "-m", "halluscope", "publish", *throne_coco_in(built)],
            env=hub.environment(tmp_path / "home"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert came.wait(60)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    repository = hub["dataset", "acme/throne_coco"]
    assert not repository.tags and (DATA in repository.files) is ("tag" in at)
    hub.requests.clear()
    status, said = upload(capsys, built)
    assert status == 0 and "published, tag v1.0.0" in said
    assert repository.tags == {"v1.0.0": repository.head}
    assert repository.files[DATA] == (built / "throne_coco" / DATA).read_bytes()
    sent = [line for line in hub.requests if line.startswith("PUT")]
    assert len(sent) == (1 if "PUT" in at else 0)  # what is there is not sent again


def test_a_failure_says_what_is_there(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_tags(method: str, path: str) -> Answer | None:
        return Answer({"error": "out of order"}, 500) if "/tag/" in path else None

    hub.gate = no_tags
    status, said = upload(capsys, built)
    assert status == 2 and "The files are there, but not the tag." in said and "tagging" in said
    hub.gate = lambda method, path: Answer({"error": "no"}, 403) if "/commit/" in path else None
    status, said = run(capsys, "metric", "throne", "pope", "--org", "acme", "--upload")
    assert (
        status == 2
        and "The repository is there, but without files." in said
        and "The token does not allow this" in said
    )
    assert (
        f"Not begun: space acme/pope {__version__}." in said
        and ("space", "acme/pope") not in hub.repositories
    )
    hub.gate = lambda method, path: None
    assert upload(capsys, built)[0] == 0
    assert run(capsys, "metric", "throne", "pope", "--org", "acme", "--upload")[0] == 0


def test_a_repository_that_is_not_shown_at_once(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Answer({"error": "no"}, 404, {"X-Error-Code": "RepoNotFound"})
    hub.gate = lambda method, path: gone if path == "/api/datasets/acme/throne_coco" else None
    status, said = upload(capsys, built)
    assert status == 2 and "Files and tag are there, but could not be compared. What the Hub shows" in said
    hub.gate = lambda method, path: None
    assert upload(capsys, built)[0] == 0


@pytest.mark.parametrize(
    ("step", "there"),
    [("create_commit", "The repository is there, but without files."), ("create_tag", "The files are there")],
)
def test_ctrl_c_says_what_is_there(
    step: str,
    there: str,
    hub: StandInHub,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    command = ["metric", "throne", "pope", "--org", "acme", "--upload"]
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(HfApi, step, stop)
        status, said = run(capsys, *command)
        assert status == 130 and there in said and f"Not begun: space acme/pope {__version__}." in said
        assert "answered" not in said and "Run the same command to go on." in said
        meanwhile.setattr(Hub, "plan", stop)
        assert run(capsys, *command) == (130, "halluscope: interrupted; nothing was published.\n")
    assert run(capsys, *command)[0] == 0


def test_a_commit_of_somebody_else_is_not_overwritten(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = hub.make("dataset", "acme/throne_coco", private=True)

    def meanwhile(method: str, path: str) -> None:
        if "/commit/" in path and len(repository.commits) == 1:
            repository.commit(repository.files | {DATA: b"theirs"})

    hub.gate = meanwhile
    status, said = upload(capsys, built)
    assert status == 2 and "Someone else changed the repository meanwhile" in said
    assert repository.files[DATA] == b"theirs"
    status, said = upload(capsys, built)
    assert status == 2 and f"holds '{DATA}', but no spec.toml of ours" in said


def test_changed_after_an_interrupted_upload(
    built: Path,
    hub: StandInHub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upload(capsys, built)
    hub["dataset", "acme/throne_coco"].tags.clear()
    monkeypatch.setattr(small_datasets, "_coco", _more)
    small_datasets.build("throne_coco", tmp_path / "changed")
    status, said = upload(capsys, tmp_path / "changed")
    assert status == 2 and "an upload was interrupted, and the data have changed since" in said


# Refused by the Hub


def test_no_token(built: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    status, said = upload(capsys, built)
    assert status == 2 and "There is no token for the Hub. Log in with `hf auth login`" in said


def test_a_dry_run_needs_no_token(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks the Hub nothing, and says so."""
    asked: list[str] = []
    hub.gate = lambda method, path: asked.append(path)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    status, said = run(capsys, *throne_coco_in(built)[:-1])
    assert status == 0 and "dataset acme/throne_coco, version " in said and not asked
    assert "There is no token for the Hub, so nothing was compared with the Hub." in said
    assert "This was a dry run; nothing was changed. Pass --upload to publish." in said


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("hf_refusedTokenOfSomebody", "asking who you are failed. The token is refused"),
        ("hf_with\x01control", "The token has characters that no token can have"),
        ("hf_withAnAccent\xe9", "The token has characters that no token can have"),
    ],
)
def test_a_refused_token(
    token: str,
    message: str,
    built: Path,
    hub: StandInHub,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    status, said = upload(capsys, built)
    assert status == 2 and message in said and token not in said and not hub.repositories


def test_a_token_that_an_error_repeats_is_not_printed(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.gate = lambda method, path: (
        Answer({"error": f"Bearer {TOKEN} may not"}, 400) if "/tree/" in path else None
    )
    hub.make("dataset", "acme/throne_coco", private=True)
    status, said = upload(capsys, built)
    assert status == 2 and "Bearer [the token] may not" in said


def test_not_your_organization(hub: StandInHub, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = run(capsys, "metric", "throne", "--org", "others", "--upload")
    assert status == 2 and "cannot publish as 'others'; expected one of me, acme" in said


def test_no_network(built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]) -> None:
    constants.HF_HUB_OFFLINE = True
    status, said = upload(capsys, built)
    assert status == 2 and "asking who you are failed" in said and "offline" in said.lower()


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        ("model", {}, "acme/throne is a model on the Hub"),
        ("space", {"sdk": "docker"}, "a Space of another kind (docker)"),
        (
            "space",
            {"sdk": "gradio", "files": {"game.py": b""}},
            "holds 'game.py', but no requirements.txt of ours",
        ),
        (
            "space",
            {"files": {"requirements.txt": b"numpy\n"}},
            "holds 'requirements.txt', but no requirements.txt of",
        ),
        ("space", {"files": {"requirements.txt": b"halluscope==99.0\n"}}, "holds version 99.0, later than"),
    ],
)
def test_a_name_that_is_taken(
    kind: str, more: dict[str, Any], message: str, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    before = hub.make(kind, "acme/throne", **more).head
    status, said = run(capsys, "metric", "throne", "--org", "acme", "--upload")
    assert status == 2 and message in said
    assert hub[kind, "acme/throne"].head == before and len(hub.repositories) == 1


def test_what_is_public_is_not_added_to_unasked(
    built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.make("dataset", "acme/throne_coco", {"README.md": b"soon"}, private=False)
    status, said = upload(capsys, built)
    assert status == 2 and "is public" in said and "Pass --public" in said
    status, said = upload(capsys, built, "--public")
    assert status == 0 and "changed" in said  # the README is replaced, and that is shown
    assert "nothing was changed" in upload(capsys, built)[1]


# Not fit to be published


def refused(capsys: pytest.CaptureFixture[str], hub: StandInHub, *arguments: str) -> str:
    """Return the message of a refusal, after checking that nothing was sent to the Hub."""
    status, said = run(capsys, *arguments, "--org", "acme", "--upload")
    assert status == 2 and not hub.requests
    return said


def test_not_built(hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, hub, "dataset", "all", "--folder", str(tmp_path))
    names = [name for name in contents.datasets() if name not in contents.unlicensed()]
    assert {"throne_coco", "pope_c_objects365"} < {*names}
    for name in names:
        assert f"{tmp_path / name}. Build it first: halluscope build {name}." in said
    assert said.count("was not built") == len(names)
    said = refused(capsys, hub, "dataset", "throne_moon", "--folder", str(tmp_path))
    assert "There is no dataset 'throne_moon'" in said and "throne_coco" in said
    assert "There is no metric 'bleu'" in refused(capsys, hub, "metric", "bleu")
    for kind in ("dataset", "metric"):
        assert f"There is no {kind} 'typo'" in refused(capsys, hub, kind, "all", "typo")


@pytest.mark.parametrize("name", sorted({*contents.unlicensed()} | {"hqh"} & {*contents.datasets()}))
def test_without_a_licence(
    name: str, hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_datasets.build(name, tmp_path)
    said = refused(capsys, hub, "dataset", name, "--folder", str(tmp_path), "--subset")
    assert f"{name} has no licence, so nobody but its authors may publish it" in said


def test_stale(
    built: Path,
    hub: StandInHub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other_spec(monkeypatch, tmp_path, title='"THRONE, another title"')
    said = refused(capsys, hub, "dataset", "throne_coco", "--folder", str(built), "--subset")
    assert "is stale" in said and "halluscope build throne_coco --force" in said


def _rename(folder: Path, name: str) -> None:
    stats = json.loads((folder / "stats.json").read_text())
    (folder / "stats.json").write_text(json.dumps(stats | {"name": name}))


def _truncate(folder: Path) -> None:
    (folder / DATA).write_bytes((folder / DATA).read_bytes()[:-1])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_truncate, "is not the file that its builder wrote"),
        (lambda folder: (folder / DATA).unlink(), "is missing"),
        (lambda folder: (folder / "stats.json").write_text("{"), "is not JSON"),
        (lambda folder: _rename(folder, "pope"), "is stale: it holds pope 1.0.0, built from another spec"),
        (lambda folder: _rename(folder, "<b>"), "stats.json: name is '<b>'; expected what a build writes"),
    ],
)
def test_not_what_the_builder_wrote(
    spoil: Any, message: str, built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(built / "throne_coco")
    assert message in refused(capsys, hub, "dataset", "throne_coco", "--folder", str(built), "--subset")


def test_images_need_a_licence(
    hub: StandInHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_datasets.build("throne_coco", tmp_path / "built", with_images=True)
    said = refused(capsys, hub, "dataset", "throne_coco", "--folder", str(tmp_path / "built"), "--subset")
    assert "was built with images (column 'image' of config 'default')" in said and "Flickr" in said
    without = "halluscope build throne_coco --no-images --out DIR/throne_coco; "
    assert f"built without images: {without}halluscope publish dataset throne_coco --folder DIR" in said
    throne, pope_c = tmp_path / "built" / "throne_coco", tmp_path / "built" / "pope_c"
    small_datasets.builder("pope_c").build(throne, out=pope_c, subset=True)
    said = refused(capsys, hub, "dataset", "pope_c", "--folder", str(tmp_path / "built"), "--subset")
    assert f"{without}halluscope build pope_c --source DIR/throne_coco --out DIR/pope_c; " in said
    small_datasets.build("pope_c", tmp_path / "built", force=True)
    other_spec(monkeypatch, tmp_path, publish_images="true")
    small_datasets.build(
        "throne_coco", tmp_path / "built", with_images=True, force=True, spec=specs.load("throne_coco")
    )
    status, said = upload(capsys, tmp_path / "built")
    assert status == 0, said


def test_a_subset_needs_the_option(built: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Pass --subset" in refused(capsys, hub, "dataset", "throne_coco", "--folder", str(built))


def test_what_a_space_installs(hub: StandInHub, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = run(capsys, "metric", "all", "--org", "acme", "--upload")
    assert status == 0, said
    for benchmark in registry.benchmarks():
        extras = f"[{','.join((*benchmark.extras, 'figures'))}]"
        there = hub["space", f"acme/{benchmark.name}"].files["requirements.txt"].decode()
        assert there.splitlines() == [f"# halluscope=={__version__}", f"halluscope{extras} @ {PACKAGE}"]
    git = "git+https://example.org/halluscope@main"
    command = ["metric", "pope", "--org", "me", "--upload", "--package", f"halluscope @ {git}"]
    status, said = run(capsys, *command)
    assert status == 0 and hub["space", "me/pope"].files["requirements.txt"].decode().endswith(f" @ {git}\n")
    assert f"The Space installs halluscope @ {git}." in said


def test_a_space_that_could_not_start(
    hub: StandInHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["publish", "metric", "throne", "--org", "acme", "--upload"]) == 2
    said = capsys.readouterr().err
    assert "is on no package index yet" in said and "--package URL" in said and not hub.requests
    for wrong in (
        "halluscope==0.1.0",
        "./halluscope.whl",
        "https://example.org/a b",
        "other @ https://a.org/b",
    ):
        said = refused(capsys, hub, "metric", "throne", "--package", wrong)
        assert f"--package is '{wrong}'; expected a URL" in said
    monkeypatch.setattr(contents, "ON_AN_INDEX", True)
    assert main(["publish", "metric", "throne", "--org", "acme", "--upload"]) == 0
    pinned = share("metrics", "throne", "requirements.txt").read_bytes()
    assert hub["space", "acme/throne"].files["requirements.txt"] == pinned


STRANGERS: list[Any] = [*([], "me", None, {}, {"name": "me", "orgs": 5}, {"name": "me", "orgs": "acme"})]


@pytest.mark.parametrize("said", STRANGERS, ids=repr)
def test_a_hub_that_does_not_say_who_one_is(
    said: Any, hub: StandInHub, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.gate = lambda method, path: Answer(said) if path == "/api/whoami-v2" else None
    status, told = upload(capsys, built)
    assert status == 2 and told.startswith("halluscope: The Hub") and told.count("\n") == 1, told
    assert "Its answer has not the form of the Hub's. Does HF_ENDPOINT name the Hub?" in told
    assert not hub.repositories


ODD: list[Any] = [
    *([], "x", None, {}, {"id": 5, "sha": 5, "private": 5, "siblings": 5}),
    *({"id": "acme/throne_coco", "sha": None}, {"sha": "main", "siblings": [5]}),
]
ASKED = {"info": "/api/datasets/acme/throne_coco$", "refs": "/refs$", "tree": "/tree/"}


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("said", ODD, ids=repr)
def test_odd_answers_about_a_repository(
    what: str, said: Any, hub: StandInHub, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Either our error is shown, or how the value was read; nothing is changed, because nothing is uploaded."""
    hub.make("dataset", "acme/throne_coco", {"README.md": b"x"})
    hub.gate = lambda method, path: Answer(said) if re.search(ASKED[what], path) else None
    status = main(["publish", *throne_coco_in(built)[:-1]])
    told = "".join(capsys.readouterr())
    assert status in (0, 2) and "Traceback" not in told, told
    assert told.startswith("halluscope: ") if status else "dry run" in told


def test_names_on_the_hub_do_not_steer_the_terminal(
    hub: StandInHub, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steering = "a\x1b[31m\u202e\nb"
    hub.user |= {"name": f"me{steering}", "orgs": [{"name": f"other{steering}"}]}
    status, told = upload(capsys, built)
    assert status == 2 and "who cannot publish as 'acme'" in told
    hub.user |= {"name": "acme"}
    hub.make("dataset", "acme/throne_coco", {f"{steering}.txt": b"x"}, private=True)
    status, more = upload(capsys, built)
    assert status == 2
    assert not re.search("[\x1b\u202e]", told + more) and (told + more).count("\n") == 2


def test_files_are_added_to_somebody_elses_repository(hub: StandInHub) -> None:
    """Without a release, nothing is deleted or tagged; a file of the same path is replaced, and shown as changed."""
    repository = hub.make("model", "acme/lvlm", {"README.md": b"theirs", "a.yaml": b"old"}, private=True)
    wanted = Publication("model", "acme/lvlm", "Results", {"a.yaml": b"new", "folder/b.yaml": b"b"})
    client = Hub("acme")
    plan = client.plan(wanted)
    lines = str(plan).splitlines()
    assert lines[0] == "model acme/lvlm: 2 files (4 B) go to the private repository that is there"
    assert lines[1:] == ["  changed        3 B  a.yaml", "  new            1 B  folder/b.yaml"]
    assert client.publish(plan) == "model acme/lvlm: published"
    assert not repository.tags and repository.files["README.md"] == b"theirs"
    assert (repository.files["a.yaml"], repository.files["folder/b.yaml"]) == (b"new", b"b")
    assert client.publish(client.plan(wanted)).endswith("nothing was changed")
