"""Publishing, against a stand-in for the Hub on loopback that commits, tags and refuses as the Hub does."""

import json
import re
import shutil
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from huggingface_hub import HfApi, constants

from halluscope import __version__
from halluscope.benchmarks.throne import metric as throne
from halluscope.building import spec as specs
from halluscope.cli import main
from halluscope.hub import contents
from halluscope.paths import share
from tests import small_datasets
from tests.standin_hub import TOKEN, Answer

pytestmark = [
    pytest.mark.usefixtures("online"),
    pytest.mark.filterwarnings("ignore:Use .content:DeprecationWarning"),  # huggingface_hub's own
]

TEXTS = ["A person drinks from a cup.", "A dog on a lawn.", "A dog runs."]
DATA = "data/validation-00000-of-00001.parquet"
PACKAGE = "https://example.org/halluscope.whl"
"""What Spaces install in these tests, unless one says otherwise."""


COCO_OF_SMALL = small_datasets.coco_of_three


@pytest.fixture(scope="module")
def throne_coco(tmp_path_factory):
    """A small throne_coco."""
    return small_datasets.build("throne_coco", tmp_path_factory.mktemp("built"))


@pytest.fixture
def built(throne_coco, tmp_path):
    """A folder with a small throne_coco, for tests to change."""
    shutil.copytree(throne_coco, tmp_path / "built" / "throne_coco")
    return tmp_path / "built"


def throne_coco_in(built):
    """The arguments of `halluscope publish` that upload throne_coco."""
    return ["dataset", "throne_coco", "--org", "acme", "--folder", str(built), "--subset", "--upload"]


@pytest.fixture
def run(published):
    """Publish; Spaces install the package from an address."""

    def publish(*words, **more):
        package = ["--package", PACKAGE] if words[0] == "metric" and "--package" not in words else []
        return published(*words, *package, **more)

    return publish


@pytest.fixture
def upload(run, built):
    """Upload throne_coco."""
    return lambda *more, folder=built, ends=0: run(*throne_coco_in(folder), *more, ends=ends)


@pytest.fixture
def refused(run, hub):
    """Run a command that is refused, with nothing sent to the Hub."""

    def refuse(*arguments):
        said = run(*arguments, "--org", "acme", "--upload", ends=2)
        assert not hub.requests
        return said

    return refuse


def other_spec(monkeypatch, folder, **changes):
    """Replace throne_coco's spec by one with other facts."""
    text = share("datasets", "throne_coco", "spec.toml").read_text()
    for key, value in changes.items():
        text = re.sub(rf"(?m)^{key} = .*", f"{key} = {value}", text)
    file = folder / f"{'-'.join(changes)}-spec.toml"
    file.write_text(text)
    spec = specs.read(file)
    monkeypatch.setattr(specs, "load", lambda name: spec)
    return spec


# What is published


@pytest.mark.long
def test_every_dataset_and_metric_is_published_and_loads(hub, tmp_path, run):
    assert {*contents.datasets()} <= {*small_datasets.BUILDS}  # a new dataset needs a small copy
    built = tmp_path / "built"
    names = [name for name in contents.datasets() if name not in contents.unlicensed()]
    for name in names:
        small_datasets.build(name, built)
    of_datasets = ["dataset", "all", "--org", "acme", "--folder", built, "--subset"]
    of_metrics = ["metric", "all", "--org", "acme", "--public"]

    said = run(*of_datasets)  # a dry run
    assert "dry run; nothing was changed" in said and not hub.repositories
    for name in names:
        assert f"dataset acme/{name}, version " in said
        for file in (built / name / "data").rglob("*.parquet"):
            assert file.relative_to(built / name).as_posix() in said
    for name in contents.unlicensed():
        assert f"left out: {name} has no licence" in said

    for command in (of_datasets, of_metrics):
        run(*command, "--upload")
    expected = {("dataset", f"acme/{name}") for name in names}
    assert {*hub.repositories} == expected | {("space", f"acme/{name}") for name in contents.metrics()}
    for (kind, _), repository in hub.repositories.items():
        assert repository.private is (kind == "dataset")
        tag = "v1.0.0" if kind == "dataset" else f"halluscope-{__version__}"
        assert repository.tags == {tag: repository.head}

    heads = {name: repository.head for name, repository in hub.repositories.items()}
    for command in (of_datasets, of_metrics):
        said = run(*command, "--upload")
        assert "published" not in said
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
    command = [sys.executable, "-c", code, json.dumps(names), json.dumps(TEXTS)]
    environment = hub.environment(tmp_path / "elsewhere")
    there = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert there.returncode == 0, there.stderr
    loaded = json.loads(there.stdout.splitlines()[-1])
    for name in names:
        for table in json.loads((built / name / "stats.json").read_text())["tables"]:
            expected = pq.read_table([built / name / shard["file"] for shard in table["shards"]])
            assert loaded["rows"][f"{name}/{table['config']}/{table['split']}"] == expected.to_pylist()
    assert loaded["streamed"] == loaded["rows"]["throne_coco/default/validation"]
    assert loaded["score"] == throne.compute(TEXTS, small_datasets.OBJECTS, judges="lexical")


def test_a_new_card_goes_to_main_and_the_tag_stays(hub, upload, monkeypatch):
    upload()
    repository = hub["dataset", "acme/throne_coco"]
    before, render = repository.head, contents.cards.card
    monkeypatch.setattr(contents.cards, "card", lambda *what: render(*what) + "\nA better word.\n")
    assert "its tag stays where it is" in upload()
    assert b"A better word." in repository.files["README.md"]
    assert repository.tags == {"v1.0.0": before} and repository.head != before
    assert "nothing was changed" in upload()


def test_changed_data_need_a_new_version(hub, tmp_path, upload, monkeypatch):
    upload()
    repository = hub["dataset", "acme/throne_coco"]
    first, data = repository.head, repository.files[DATA]
    changed = tmp_path / "changed"
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(small_datasets, "coco_of_three", _more)
        small_datasets.build("throne_coco", changed)
        said = upload(folder=changed, ends=2)
        assert "has a version 1.0.0 (tag v1.0.0) with other data" in said and DATA in said
        assert repository.head == first

        spec = other_spec(meanwhile, tmp_path, version='"1.1.0"')
        small_datasets.build("throne_coco", changed, spec=spec, force=True)
        upload(folder=changed)
    assert set(repository.tags) == {"v1.0.0", "v1.1.0"} and repository.tags["v1.1.0"] == repository.head
    assert repository.commits[repository.tags["v1.0.0"]][DATA] == data != repository.files[DATA]

    # An older checkout, whose version is there: nothing to do. One whose version never was: refused.
    assert "nothing was changed" in upload()
    del repository.tags["v1.0.0"]
    assert "holds version 1.1.0, later than 1.0.0" in upload(ends=2)


def _more(classes, file_name):
    """One annotation less than small_datasets has."""
    content = COCO_OF_SMALL(classes, file_name)
    content["annotations"].pop()
    return content


def test_what_somebody_took_from_main_is_put_back(hub, upload):
    upload()
    repository = hub["dataset", "acme/throne_coco"]
    whole = dict(repository.files)
    repository.commit({path: held for path, held in whole.items() if path != DATA})
    assert "published; its tag stays where it is" in upload()
    assert repository.files == whole

    repository.commit(whole | {"LICENSE": b"theirs"})
    assert "holds 'LICENSE', which is not in version 1.0.0 (tag v1.0.0)" in upload(ends=2)
    repository.commit({path: held for path, held in whole.items() if path != "spec.toml"})
    assert "but no spec.toml of ours that says its version" in upload(ends=2)


# Interrupted


@pytest.mark.parametrize("at", [r"PUT /_large/", r"POST .*/commit/", r"POST .*/tag/"])
@pytest.mark.long
def test_killed_and_repeated_it_ends_complete(at, built, hub, tmp_path, upload):
    command = [sys.executable, "-m", "halluscope", "publish", *throne_coco_in(built)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with hub.holding(at) as came:
        process = subprocess.Popen(command, env=hub.environment(tmp_path / "home"), **quiet)
        assert came.wait(60)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    repository = hub["dataset", "acme/throne_coco"]
    assert not repository.tags and (DATA in repository.files) is ("tag" in at)
    hub.requests.clear()
    assert "published, tag v1.0.0" in upload()
    assert repository.tags == {"v1.0.0": repository.head}
    assert repository.files[DATA] == (built / "throne_coco" / DATA).read_bytes()
    sent = [line for line in hub.requests if line.startswith("PUT")]
    assert len(sent) == (1 if "PUT" in at else 0)  # what is there is not sent again


def gate(hub, part, answer):
    """The Hub answers so wherever this is part of the path."""
    hub.gate = lambda method, path: answer if re.search(part, path) else None


def test_a_failure_says_what_is_there(hub, run, upload):
    gate(hub, "/tag/", Answer({"error": "out of order"}, 500))
    said = upload(ends=2)
    assert "The files are there, but not the tag." in said and "tagging" in said
    gate(hub, "/commit/", Answer({"error": "no"}, 403))
    metrics = ["metric", "throne", "pope", "--org", "acme", "--upload"]
    said = run(*metrics, ends=2)
    assert "The repository is there, but without files." in said and "The token does not allow this" in said
    assert f"Not begun: space acme/pope {__version__}." in said
    assert ("space", "acme/pope") not in hub.repositories
    hub.gate = lambda method, path: None
    upload()
    run(*metrics)


def test_ctrl_c_says_what_is_there(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    command = ["metric", "throne", "pope", "--org", "acme", "--upload"]
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(HfApi, "create_tag", stop)
        said = run(*command, ends=130)
        assert "The files are there" in said and f"Not begun: space acme/pope {__version__}." in said
        assert "Run the same command to go on." in said
    run(*command)


def test_a_commit_of_somebody_else_is_not_overwritten(hub, upload):
    repository = hub.make("dataset", "acme/throne_coco", private=True)

    def meanwhile(method, path):
        if "/commit/" in path and len(repository.commits) == 1:
            repository.commit(repository.files | {DATA: b"theirs"})

    hub.gate = meanwhile
    assert "Someone else changed the repository meanwhile" in upload(ends=2)
    assert repository.files[DATA] == b"theirs"
    assert f"holds '{DATA}', but no spec.toml of ours" in upload(ends=2)


# Refused by the Hub


def test_only_an_upload_needs_a_token(built, hub, run, upload, monkeypatch):
    """A dry run needs none, and changes nothing."""
    monkeypatch.delenv("HF_TOKEN")
    assert "There is no token for the Hub. Log in with `hf auth login`" in upload(ends=2)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.requests.clear()
    lines = run(*throne_coco_in(built)[:-1]).splitlines()
    assert not hub.requests and not hub.repositories
    assert lines[0].startswith("dataset acme/throne_coco, version 1.0.0: 4 files (")
    assert [line.split()[-1] for line in lines[1:5]] == ["README.md", DATA, "spec.toml", "stats.json"]


@pytest.mark.parametrize("token", ["hf_refusedTokenOfSomebody", "hf_withAnAccent\xe9"])
def test_a_refused_token(token, hub, upload, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    said = upload(ends=2)
    assert "The token " in said and token not in said and not hub.repositories


def test_a_token_that_an_error_repeats_is_not_printed(hub, upload):
    gate(hub, "/tree/", Answer({"error": f"Bearer {TOKEN} may not"}, 400))
    hub.make("dataset", "acme/throne_coco", private=True)
    assert "Bearer [the token] may not" in upload(ends=2)


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        ("model", {}, "acme/throne is a model on the Hub"),
        ("space", {"sdk": "docker"}, "a Space of another kind (docker)"),
        ("space", {"files": {"game.py": b""}}, "holds 'game.py', but no requirements.txt of ours"),
        (
            "space",
            {"files": {"requirements.txt": b"gradio\n"}},
            "no requirements.txt of ours that says its version",
        ),
        ("space", {"files": {"requirements.txt": b"halluscope==99.0\n"}}, "holds version 99.0, later than"),
    ],
)
def test_a_name_that_is_taken(kind, more, message, hub, run):
    before = hub.make(kind, "acme/throne", **more).head
    assert message in run("metric", "throne", "--org", "acme", "--upload", ends=2)
    assert hub[kind, "acme/throne"].head == before and len(hub.repositories) == 1


def test_what_an_older_version_left_is_deleted(hub, run):
    files = {"requirements.txt": b"halluscope==0.0.1\n", "old.py": b""}
    hub.make("space", "acme/throne", files=files, private=True)
    assert "1 is deleted" in run("metric", "throne", "--org", "acme", "--upload")
    assert "old.py" not in hub["space", "acme/throne"].files


def test_an_organization_of_somebody_else(hub, run):
    said = run("metric", "throne", "--org", "nobodys", "--upload", ends=2)
    assert "who cannot publish as 'nobodys'; expected one of" in said and not hub.repositories


def test_what_is_public_is_not_added_to_unasked(hub, upload):
    hub.make("dataset", "acme/throne_coco", {"README.md": b"soon"}, private=False)
    assert "Pass --public" in upload(ends=2)
    assert "changed" in upload("--public")  # the README is replaced, and that is shown


# Not fit to be published


def test_what_is_not_there_is_named(tmp_path, refused):
    said = refused("dataset", "all", "--folder", tmp_path)
    names = [name for name in contents.datasets() if name not in contents.unlicensed()]
    for name in names:
        assert f"{tmp_path / name}. Build it first: halluscope build {name}." in said
    assert said.count("was not built") == len(names)
    for kind in ("dataset", "metric"):
        assert f"There is no {kind} 'typo'" in refused(kind, "all", "typo")


def test_without_a_licence(tmp_path, refused):
    for name in contents.unlicensed():
        small_datasets.build(name, tmp_path)
        assert f"{name} has no licence" in refused("dataset", name, "--folder", tmp_path, "--subset")


def test_a_build_by_another_spec_is_refused(built, tmp_path, refused, monkeypatch):
    other_spec(monkeypatch, tmp_path, title='"THRONE, another title"')
    said = refused("dataset", "throne_coco", "--folder", built, "--subset")
    assert "is stale" in said and "halluscope build throne_coco --force" in said


def test_a_subset_needs_a_word_of_its_own(built, refused):
    said = refused("dataset", "throne_coco", "--folder", built)
    assert "is a subset or a changed copy of throne_coco" in said and "--subset" in said


def test_images_need_a_licence(tmp_path, refused, upload, monkeypatch):
    built = tmp_path / "images"
    small_datasets.build("throne_coco", built, with_images=True)
    said = refused("dataset", "throne_coco", "--folder", built, "--subset")
    assert "was built with images (column 'image' of config 'default')" in said
    without = "halluscope build throne_coco --no-images --out DIR/throne_coco; "
    assert f"built without images: {without}halluscope publish dataset throne_coco --folder DIR" in said
    small_datasets.builder("pope_c").build(built / "throne_coco", out=built / "pope_c", subset=True)
    assert without in refused("dataset", "pope_c", "--folder", built, "--subset")
    spec = other_spec(monkeypatch, tmp_path, publish_images="true")
    small_datasets.build("throne_coco", built, with_images=True, force=True, spec=spec)
    upload(folder=built)


def test_a_space_that_could_not_start(hub, refused, capsys, monkeypatch):
    command = ["publish", "metric", "throne", "--org", "acme", "--upload"]
    assert main(command) == 2
    assert "is on no package index yet" in capsys.readouterr().err and not hub.requests
    wrong = "https://example.org/a b"
    assert f"--package is '{wrong}'; expected a URL" in refused("metric", "throne", "--package", wrong)
    monkeypatch.setattr(contents, "ON_AN_INDEX", True)
    assert main(command) == 0
    pinned = f"halluscope[figures]=={__version__}\n"
    assert hub["space", "acme/throne"].files["requirements.txt"] == pinned.encode()
