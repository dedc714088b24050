"""For each benchmark in the registry, a plan of verdicts matches what a server is then asked."""

import json
import shutil

import pytest

from halluscope import cli, registry
from tests import small_datasets
from tests.scripted_server import ScriptedServer, reply

pytestmark = [
    pytest.mark.usefixtures("access_key"),
    pytest.mark.filterwarnings("ignore:.* prompts have no readable verdict"),
    pytest.mark.filterwarnings("ignore:.* are scored"),
    pytest.mark.filterwarnings("ignore:.* greedily"),
]
GRADED = [one.name for one in registry.benchmarks() if one.is_graded]


@pytest.fixture
def server():
    """A grader whose replies are never valid."""
    scripted = ScriptedServer(lambda prompt, count, body: reply("Well."))
    yield scripted
    scripted.close()


@pytest.fixture
def command(tmp_path, capsys):
    """Run `halluscope` on a small dataset with responses; return its JSON output, or its error."""

    def run(name, judge, *more, ends=0):
        dataset = registry.first_dataset(registry.benchmark(name))
        built = tmp_path / dataset.name
        if not built.exists():
            small_datasets.build(dataset.name, tmp_path)
            rows = registry.benchmark(name).module("rows").load([str(built)])
            said = [
                {key: getattr(row, key) for key in dataset.key} | {"response": f"There is dog {number % 3}."}
                for number, row in enumerate(rows)
            ]
            (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, said)))
        words = ["--dataset", str(built), "--judge", judge]
        if "synonyms" in registry.benchmark(name).keywords:  # instead of a download
            words += ["--synonyms", "names"]
        if "--responses" not in more:
            words += ["--responses", str(tmp_path / "said.jsonl")]
        capsys.readouterr()
        assert cli.main(["score", name, *words, "--store", str(tmp_path / "store"), "--quiet", *more]) == ends
        got = capsys.readouterr()
        return got.err if ends else got.out

    return run


def planned(command, name, judge, *more):
    """Return the judge's plan, and everything printed with it."""
    plan = json.loads(command(name, judge, "--plan", "--json", *more))
    (load,) = plan["judges"]
    return load, plan


@pytest.mark.parametrize("name", GRADED)
def test_what_is_planned_is_asked(name, command, server, tmp_path):
    judge = f"openai:m@{server.url}"
    before, plan = planned(command, name, judge, "--repeats", "2")
    assert not server.bodies and not (tmp_path / "store").exists()
    command(name, judge, "--repeats", "2", "--max-failed", "1", "--bootstrap", "0")
    sent = [body for body in server.bodies if body["messages"][0]["content"] in server.prompts]
    assert before["questions"] == before["left"] == len(server.prompts) > 0
    assert before["tokens"] == sum(map(len, server.prompts)) / 4
    assert before["reply_tokens"] == sum(body["max_tokens"] for body in sent)
    assert plan["repeats"] == 2 and before["cached"] == 0

    after, _ = planned(command, name, judge, "--repeats", "2")
    assert (
        after["cached"] == before["questions"]
        and after["left"] == after["tokens"] == after["reply_tokens"] == 0
    )
    more, _ = planned(command, name, judge, "--repeats", "3")
    assert (more["questions"], more["cached"]) == (before["questions"] * 3 // 2, before["questions"])
    fresh, _ = planned(command, name, judge, "--repeats", "2", "--fresh")
    assert fresh["left"] == before["left"]
    assert len(server.prompts) == before["questions"]


def test_a_local_model(command, tiny_t5, server, one_thread, tmp_path):
    """A prompt whose reply is always the same is asked once, however often it counts."""
    command("hqh", f"openai:m@{server.url}", "--max-failed", "1")
    tokens = sum(len(prompt) for prompt in server.prompts) / 4
    load, plan = planned(command, "hqh", str(tiny_t5), "--repeats", "2")
    assert (load["tokens"], load["questions"], load["cached"]) == (tokens, len(server.prompts), 0)
    assert load["reply_tokens"] is None and load["note"] == "" and plan["exact"]

    shutil.copytree(tiny_t5, tmp_path / "bare", ignore=shutil.ignore_patterns("*.safetensors", "*.bin"))
    bare, _ = planned(command, "hqh", str(tmp_path / "bare"), "--repeats", "2")
    assert bare["questions"] == load["questions"] and bare["cached"] is None and "weights" in bare["note"]
