"""For each benchmark in the registry, a plan of verdicts matches what a server is then asked."""

import json
import shutil

import pytest

from halluscope import registry
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
def command(tmp_path):
    """Return the words that score a small dataset by a judge."""

    def words(name, judge, *more):
        dataset = registry.first_dataset(registry.benchmark(name))
        built = tmp_path / dataset.name
        if not built.exists():
            small_datasets.build(dataset.name, tmp_path)
            rows = registry.benchmark(name).module("rows").load([str(built)])
            said = []
            for number, row in enumerate(rows):
                ids = {key: getattr(row, key) for key in dataset.key}
                said.append(ids | {"response": f"There is dog {number % 3}."})
            (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, said)))
        if "synonyms" in registry.benchmark(name).keywords:  # instead of a download
            more = ("--synonyms", "names", *more)
        files = ["--responses", tmp_path / "said.jsonl", "--dataset", built, "--store", tmp_path / "store"]
        return ["score", name, *files, "--judge", judge, "--quiet", *more]

    return words


@pytest.fixture
def planned(command, json_of):
    """Return the judge's plan, and all of the plan."""

    def plan(name, judge, *more):
        whole = json_of(*command(name, judge, "--plan", *more))
        (load,) = whole["judges"]
        return load, whole

    return plan


@pytest.mark.parametrize("name", GRADED)
def test_what_is_planned_is_asked(name, command, planned, ran, server, tmp_path):
    judge = f"openai:m@{server.url}"
    before, plan = planned(name, judge, "--repeats", "2")
    assert not server.bodies and not (tmp_path / "store").exists()
    ran(*command(name, judge, "--repeats", "2", "--max-failed", "1", "--bootstrap", "0"))
    sent = [body for body in server.bodies if body["messages"][0]["content"] in server.prompts]
    assert before["questions"] == before["left"] == len(server.prompts) > 0
    assert before["tokens"] == sum(map(len, server.prompts)) / 4
    assert before["reply_tokens"] == sum(body["max_tokens"] for body in sent)
    assert plan["repeats"] == 2 and before["cached"] == 0

    after, _ = planned(name, judge, "--repeats", "2")
    assert after["cached"] == before["questions"]
    assert after["left"] == after["tokens"] == after["reply_tokens"] == 0
    more, _ = planned(name, judge, "--repeats", "3")
    assert (more["questions"], more["cached"]) == (before["questions"] * 3 // 2, before["questions"])
    fresh, _ = planned(name, judge, "--repeats", "2", "--fresh")
    assert fresh["left"] == before["left"]
    assert len(server.prompts) == before["questions"]


def test_a_local_models_tokens_are_counted(command, planned, ran, tiny_t5, server, one_thread, tmp_path):
    """A prompt whose reply is always the same is asked once, however often it counts."""
    ran(*command("hqh", f"openai:m@{server.url}", "--max-failed", "1"))
    tokens = sum(len(prompt) for prompt in server.prompts) / 4
    load, plan = planned("hqh", str(tiny_t5), "--repeats", "2")
    assert (load["tokens"], load["questions"], load["cached"]) == (tokens, len(server.prompts), 0)
    assert load["reply_tokens"] is None and load["note"] == "" and plan["exact"]

    shutil.copytree(tiny_t5, tmp_path / "bare", ignore=shutil.ignore_patterns("*.safetensors", "*.bin"))
    bare, _ = planned("hqh", str(tmp_path / "bare"), "--repeats", "2")
    assert bare["questions"] == load["questions"] and bare["cached"] is None and "weights" in bare["note"]


def test_what_cannot_be_planned(command, refused, tiny_t5, tmp_path):
    drawn = ("--plan", "--temperature", "0.5")
    assert "decodes greedily; expected 0" in refused(*command("hqh", str(tiny_t5), *drawn))


def test_the_plan_as_a_table(command, ran, server):
    """8 questions; replies of at most 512 tokens."""
    out = ran(*command("hqh", f"openai:m@{server.url}", "--plan")).out
    header, _, row, *_ = out.splitlines()
    assert header.split()[:3] == ["judge", "prompts", "cached"] and row.split()[1:4] == ["8", "0", "8"]
    assert "one request per prompt; replies of at most 4,096 tokens in all" in out
