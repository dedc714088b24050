"""Batch files: exporting, answering and importing give the same scores as asking, whatever happens."""

import gzip
import hashlib
import json
import os
import random
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halluscope import cli
from halluscope.benchmarks.throne import metric as throne
from halluscope.errors import JudgeUnavailable
from halluscope.files import opening
from halluscope.judging import batch
from halluscope.judging.batch import BatchExport
from halluscope.judging.cache import Cache
from tests import small_datasets
from tests.benchmarks import test_hallusionbench
from tests.judging.test_endpoint_voter import kept
from tests.scripted_server import SECRET, Said, refuse, reply

pytestmark = [
    pytest.mark.usefixtures("access_key"),
    pytest.mark.filterwarnings("ignore:.*(scored|without 77):UserWarning"),
]

CLASSES = 80
TEMPLATES = ["Is there {a/an} {x}?", "Does it show {a/an} {x}?"]


# A model that answers each request by a digest of it, directly or in a batch.


def drawn(body: dict, least: int) -> int:
    content = f"{body['messages'][0]['content']} {body.get('seed')}"
    return hashlib.sha256(content.encode()).digest()[0] % least


def answer(prompt: str, count: int, body: dict) -> Said:
    """Reply with a verdict that its schema allows, or a vote with logprobs; mostly no."""
    if "response_format" in body:
        parts = body["response_format"]["json_schema"]["schema"]["properties"]
        words = parts["verdict"]["enum"]
        rest = {
            name: [] if part["type"] == "array" else 0 for name, part in parts.items() if name != "verdict"
        }
        return reply(json.dumps({"verdict": words[drawn(body, len(words))], **rest}))
    said = reply("Yes" if drawn(body, 3) == 0 else "No")
    token = said.body["choices"][0]["message"]["content"]
    tops = [{"token": token, "logprob": -0.25}, {"token": {"Yes": "No", "No": "Yes"}[token], "logprob": -1.5}]
    said.body["choices"][0]["logprobs"] = {"content": [tops[0] | {"top_logprobs": tops}]}
    return said


def carried_out(files: Iterable[Path], script: Callable[..., Said] = answer) -> list[dict[str, Any]]:
    """The output of batches, as OpenAI writes it."""
    lines = []
    for file in files:
        for line in file.read_text().splitlines():
            request = json.loads(line)
            assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
            said = script(request["body"]["messages"][0]["content"], 1, request["body"])
            response = {"status_code": said.status, "request_id": "r", "body": said.body}
            lines.append({"id": "b", "custom_id": request["custom_id"], "response": response, "error": None})
    return lines


EXPIRED = {
    "response": None,
    "error": {"code": "batch_expired", "message": "This request could not be executed."},
}


def written(path: Path, lines: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# The three benchmarks, each small.


def _hallusionbench(folder: Path) -> list[str]:
    rows = test_hallusionbench.rows()
    (folder / "HallusionBench.json").write_text(json.dumps(rows))
    keys = ("category", "subcategory", "visual_input", "set_id", "figure_id", "question_id")
    said = [{key: row[key] for key in keys} | {"response": f"Yes, as {i}."} for i, row in enumerate(rows)]
    return ["hallusionbench", *_files(folder, said, folder / "HallusionBench.json")]


def _hqh(folder: Path) -> list[str]:
    built = small_datasets.build("hqh", folder)
    said = [{"id": i, "response": f"Two dogs, and {i} cats\u2028 and \ud83d\ude00."} for i in range(8)]
    return ["hqh", *_files(folder, said, built)]


def _throne(folder: Path) -> list[str]:
    built = small_datasets.build("throne_coco", folder)
    texts = {10: "A person with a cup.", 20: "", 30: "A person with a cup."}
    said = [{"image_id": image, "response": text} for image, text in texts.items()]
    return ["throne", *_files(folder, said, built), "--questions", *TEMPLATES]


def _files(folder: Path, said: list[dict[str, Any]], dataset: Path) -> list[str]:
    responses = written(folder / "responses.jsonl", said)
    return ["--responses", str(responses), "--dataset", str(dataset), "--quiet", "--json"]


ROOMS = {"hallusionbench": _hallusionbench, "hqh": _hqh, "throne": _throne}


class Run:
    """Return the command line of a benchmark whose judge is a server."""

    def __init__(self, name: str, folder: Path, url: str, capsys: Any, *more: str) -> None:
        self.folder, self.capsys, self.out = folder, capsys, folder / "batches"
        folder.mkdir(exist_ok=True)
        judge = "--judges" if name == "throne" else "--judge"
        self.words = [*ROOMS[name](folder), judge, f"openai:m@{url}", *more]

    def cli(self, *words: str, ends: int = 0) -> Any:
        self.capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert cli.main([*words]) == ends, self.capsys.readouterr().err
        got = self.capsys.readouterr()
        return json.loads(got.out) if ends == 0 else got.err

    def score(self, store: str) -> Any:
        return self.cli("score", *self.words, "--store", str(self.folder / store))

    def export(self, *more: str, ends: int = 0) -> Any:
        store = str(self.folder / "batch.sqlite")
        return self.cli(
            "ask", "export", *self.words, "--store", store, "--out", str(self.out), *more, ends=ends
        )

    def import_(self, *files: Path, ends: int = 0) -> Any:
        where = ["--exported", str(self.out), "--store", str(self.folder / "batch.sqlite")]
        return self.cli("ask", "import", *map(str, files), *where, "--json", ends=ends)

    def files(self, exported: Any) -> list[Path]:
        return [Path(exported["round"]) / file["name"] for file in exported["files"]]

    def carried_out(self, exported: Any, script: Callable[..., Said] = answer) -> list[dict[str, Any]]:
        return carried_out(self.files(exported), script)

    def answered(self, exported: Any, script: Callable[..., Said] = answer) -> Any:
        """Import all answers to a round."""
        return self.import_(written(self.folder / "came.jsonl", self.carried_out(exported, script)))


@pytest.fixture
def run(serve, tmp_path, capsys):
    """Make runs with a judge behind a server; `run.server` is the last run's server."""

    def make(name: str, *more: str, script: Callable[..., Said] = answer) -> Run:
        server = serve(script)
        made = Run(name, tmp_path / "run", server.url, capsys, *more)
        made.server = server
        return made

    return make


# Round trips


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("hallusionbench", ["--repeats", "2", "--judge-seed", "7"]),
        ("hqh", ["--repeats", "3", "--temperature", "1"]),
        ("throne", ["--ask", "needed"]),
        ("throne", ["--ask", "all"]),
        ("throne", ["--ask", "needed", "--agreement", "majority", "--judges", "lexical", "openai:m@URL"]),
    ],
    ids=lambda value: "-".join(value[:2]).lstrip("-") if isinstance(value, list) else value,
)
def test_a_round_trip_gives_what_asking_gives(run, name, more):
    one = run(name)
    one.words += [word.replace("URL", one.server.url) for word in more]
    direct = one.score("direct.sqlite")
    came = len(one.server.bodies)
    asked = [
        body for body in one.server.bodies if not body["messages"][0]["content"].startswith("Reply with one")
    ]
    exported, bodies, rounds = one.export(), [], 0
    while exported["files"]:
        rounds += 1
        bodies += [json.loads(line)["body"] for file in one.files(exported) for line in file.open()]
        assert one.answered(exported)["new"] == exported["requests"]
        exported = one.export()
    assert one.score("batch.sqlite") == direct
    assert len(one.server.bodies) == came  # not even a probe
    votes, imported = (sorted(kept(one.folder / store)) for store in ("direct.sqlite", "batch.sqlite"))
    assert votes == imported and {abs(margin) for _, margin in votes} == (
        {1.25} if name == "throne" else set()
    )
    text = lambda body: json.dumps(body, sort_keys=True)  # noqa: E731
    assert sorted(map(text, bodies)) == sorted(map(text, asked))
    assert rounds == (2 if name == "hallusionbench" or "needed" in more else 1)


@pytest.mark.long
def test_whatever_order_loss_and_repetition(run, tmp_path_factory):
    """Answers come shuffled, in several files, some not at all, some as errors, some twice."""
    one = run("throne", "--ask", "needed")
    direct = one.score("direct.sqlite")
    came = len(one.server.bodies)

    @given(st.integers(0, 2**32).map(random.Random))
    @settings(max_examples=3, deadline=None, derandomize=True, database=None)
    def whatever(rng: random.Random) -> None:
        one.folder = tmp_path_factory.mktemp("again")
        one.out = one.folder / "batches"
        exported = one.export("--requests", str(rng.choice([7, 40, 1000])))
        while exported["files"]:
            lines = one.carried_out(exported)
            rng.shuffle(lines)
            first, *others = lines
            bad = [line | EXPIRED for line in others if rng.random() < 0.1]
            failed = {line["custom_id"] for line in bad}
            good = [first, *(one for one in others if one["custom_id"] not in failed and rng.random() < 0.9)]
            twice = [line for line in good if rng.random() < 0.2]
            come = [*good, *twice, *bad]
            rng.shuffle(come)
            cut = rng.randrange(len(come) + 1)
            parts = enumerate((come[:cut], [*come[cut:], first]))
            files = [written(one.folder / f"{number}.jsonl", part) for number, part in parts]
            got = one.import_(*files)
            assert (got["new"], got["kept"]) == (len(good), len(twice) + 1)
            assert sum(got["failures"].values()) == len(bad)
            exported = one.export()
        assert one.score("batch.sqlite") == direct

    whatever()
    assert len(one.server.bodies) == came


def test_needed_says_how_many_are_left(run):
    """Each question is exported at most once; only the first question about each open cell certainly is."""
    one = run("throne", "--ask", "needed")
    first = one.export()
    (counts,) = first["judges"].values()
    assert counts == {"now": CLASSES, "later_at_most": CLASSES}
    one.answered(first)
    second = one.export()
    (counts,) = second["judges"].values()
    said_no = CLASSES - counts["now"]
    assert 0 < counts["now"] < CLASSES and counts["later_at_most"] == 0
    said = [line["response"]["body"]["choices"][0]["message"]["content"] for line in one.carried_out(first)]
    assert said_no >= said.count("No") - 2  # the two objects of the first image are asked about in any case


def test_an_earlier_judge_of_this_machine_votes_first(run):
    """With unanimity, a cell that the judge denies is exported only if the object is present."""
    one = run("throne", "--ask", "needed")
    one.words[one.words.index("--judges") + 1 :] = ["lexical", f"openai:m@{one.server.url}"]
    assert one.export()["requests"] < 10 and not one.server.bodies
    one.words[one.words.index("--judges") + 1 :] = [f"openai:m@{one.server.url}", "lexical"]
    one.out = one.folder / "other"
    assert one.export()["requests"] == CLASSES


# What is written


def test_the_files_hold_what_a_server_takes_and_no_key(run):
    one = run("hqh", "--repeats", "2")
    exported = one.export("--requests", "5", "--bytes", "20000")
    lines = [file.read_text().splitlines() for file in one.files(exported)]
    ids = [json.loads(line)["custom_id"] for part in lines for line in part]
    assert len(ids) == len({*ids}) == 16 and all(len(id) <= 64 for id in ids)
    for file, part in zip(one.files(exported), lines, strict=True):
        assert len(part) <= 5 and file.stat().st_size <= 20_000
    assert [file["requests"] for file in exported["files"]] == [len(part) for part in lines]
    assert [file["bytes"] for file in exported["files"]] == [
        file.stat().st_size for file in one.files(exported)
    ]
    assert not any(SECRET in file.read_text() for file in one.out.rglob("*.*"))
    assert not one.server.bodies


def test_what_is_not_exported(run):
    one = run("hqh")
    assert "--bytes" in one.export("--bytes", "100", ends=2)
    assert "requests is 0" in one.export("--requests", "0", ends=2)
    assert "name another --store" in one.export("--fresh", ends=2) and not one.out.exists()
    one.out = one.folder / "responses.jsonl"  # what is read is not written over
    assert "is a file" in one.export(ends=2)


def test_two_judges_have_files_of_their_own(run):
    one = run("throne", "--ask", "all")
    one.words.insert(one.words.index("--judges") + 1, f"openai:a@{one.server.url}")
    exported = one.export()
    models = [{json.loads(line)["body"]["model"] for line in file.open()} for file in one.files(exported)]
    assert models == [{"a"}, {"m"}] and len(exported["judges"]) == 2


def test_the_same_again_is_no_new_round(run):
    one = run("hqh")
    first = one.export()
    again = one.export()
    assert again == first | {"again": 8} and len(list(one.out.iterdir())) == 1
    assert Path(one.export("--requests", "7")["round"]).name == "round-2"
    one.import_(written(one.folder / "some.jsonl", one.carried_out(first)[:3]))
    assert one.export()["requests"] == 5
    assert sorted(path.name for path in one.out.iterdir()) == ["round-1", "round-2", "round-3"]


def test_no_access_key_is_needed_to_export(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    words = [*_hqh(tmp_path), "--judge", "openai:gpt", "--out", str(tmp_path / "out")]
    words.remove("--quiet")
    with pytest.warns(UserWarning):
        assert cli.main(["ask", "export", *words]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["requests"] == 8 and "failed" not in said.err
    assert "OPENAI_API_KEY" not in os.environ
    assert cli.main(["score", *words[:-2]]) == 2


@pytest.mark.parametrize("judge", [[], ["--judge", "reference-only"], ["--judge", "no/model"]])
def test_a_judge_of_this_machine_is_not_exported(judge, tmp_path, capsys):
    words = [*_hqh(tmp_path), *judge, "--out", str(tmp_path / "out")]
    assert cli.main(["ask", "export", *words]) == 2
    assert "openai:MODEL[@URL]" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_settings_that_a_server_refuses_are_left_out_and_the_key_says_so(run):
    def picky(prompt: str, count: int, body: dict) -> Said:
        for name in ("temperature", "max_tokens", "seed"):
            if name in body:
                return refuse(400, f"Unsupported parameter: '{name}'")
        return answer(prompt, count, body)

    one = run("hqh", "--leave-out", "temperature", "max_tokens", "seed", script=picky)
    left_out = one.score("batch.sqlite")
    assert one.export()["files"] == []
    assert one.score("batch.sqlite") == left_out
    words = one.words.index("--leave-out")
    del one.words[words : words + 4]
    assert one.score("direct.sqlite") == left_out  # it was asked what it takes
    body = json.loads(one.files(one.export())[0].open().readline())["body"]
    assert body["temperature"] == 0 and {"max_tokens", "seed"} < body.keys()
    said = one.answered(one.export(), picky)["failures"]
    assert said == {"HTTP 400": 8}


class AskedOtherwise:
    """A judge over HTTP that does not use chat completions."""

    key, stored = "otherwise", True

    def probe_settings(self) -> None:
        raise AssertionError("no server is asked")

    def close(self) -> None:
        pass

    answer = probe_settings


def test_a_judge_that_takes_no_batch_files_is_not_asked_either(tmp_path):
    outbox = BatchExport(tmp_path / "out")
    store = Cache(export=outbox)
    ask = {"vocabulary": ["dog"], "judges": AskedOtherwise(), "store": store}
    with pytest.raises(JudgeUnavailable, match="cannot use batch files"), outbox.opened():
        throne.compute(["A dog."], [["dog"]], **ask)
    assert not outbox.folder.exists()


# What is read


def test_foreign_lines_are_refused_and_nothing_is_kept(run):
    one = run("hqh")
    good = one.carried_out(one.export())
    odd = {
        "another id": [good[0] | {"custom_id": "someone-else"}],
        "half an id": [good[0] | {"custom_id": good[0]["custom_id"][:-1]}],
        "no id": [{"response": {}}],
        "an id alone": [{"custom_id": good[0]["custom_id"]}],
        "an id that is a number": [good[0] | {"custom_id": 1}],
        "a list": [[]],
        "the request": [json.loads(one.files(one.export())[0].open().readline())],
        "a steering one": [good[0] | {"custom_id": "\x1b[31m"}],
    }
    for called, lines in odd.items():
        said = one.import_(written(one.folder / "odd.jsonl", [*good, *lines]), ends=2)
        assert "odd.jsonl, line 9" in said and "expected" in said and "\x1b" not in said, called
    cut = one.folder / "cut.jsonl"
    cut.write_text(json.dumps(good[0]) + "\n" + json.dumps(good[1])[:-30])
    assert "cut.jsonl, line 2 is not JSON, or is cut off" in one.import_(cut, ends=2)
    twice = written(one.folder / "twice.jsonl", good)
    assert "given twice" in one.import_(twice, twice, ends=2)
    assert one.export()["requests"] == 8
    one.out = one.folder
    assert "holds no round" in one.import_(twice, ends=2)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"status_code": 429, "body": {"error": {"message": "slow \x1b[2J down"}}}, "HTTP 429"),
        ({"status_code": 500, "body": "\x1b[2J"}, "HTTP 500"),
        ({"status_code": "200", "body": {}}, "HTTP '200'"),
        ({"status_code": 200, "body": None}, "not the JSON of a chat completion"),
        ({"status_code": 200, "body": {"choices": []}}, "not the JSON of a chat completion"),
        ({"status_code": 200, "body": reply("{", "length").body}, "finish_reason 'length'"),
        ({"status_code": 200, "body": reply(" ").body}, "an empty reply"),
        ([], "no response"),
        (None, "no response"),
    ],
)
def test_what_is_no_answer_is_counted_and_exported_again(run, response, reason):
    one = run("hqh")
    good = one.carried_out(one.export())
    lines = written(one.folder / "some.jsonl", [good[0] | {"response": response}, *good[1:]])
    assert one.import_(lines)["failures"] == {reason: 1}
    assert one.export()["requests"] == 1
    (one.folder / "zipped.jsonl.gz").write_bytes(gzip.compress(json.dumps(good[0]).encode()))
    assert one.import_(one.folder / "zipped.jsonl.gz")["new"] == 1
    assert one.export()["files"] == []


def test_of_two_answers_the_first_stays(run):
    one = run("hqh")
    first = one.carried_out(one.export())
    for lines in ([*first, *(line | {"response": None} for line in first)], first):
        one.import_(written(one.folder / "some.jsonl", lines))
    scored = one.score("batch.sqlite")

    def other(prompt: str, count: int, body: dict) -> Said:
        return reply('{"verdict": "incorrect", "extra_claims": 0, "evidence": [] }')

    one.out = one.out / "round-1" / ".."
    second = carried_out(one.out.glob("round-1/judge-*"), other)
    got = one.import_(written(one.folder / "other.jsonl", second))
    assert (got["new"], got["kept"]) == (0, 8)
    assert one.score("batch.sqlite") == scored
    assert one.import_(written(one.folder / "both.jsonl", [*first, *second]))["kept"] == 16


def test_the_text_for_people(run, capsys):
    one = run("throne", "--ask", "needed")
    one.words.remove("--json")
    store = ["--store", str(one.folder / "batch.sqlite")]
    words = ["ask", "export", *one.words, *store, "--out", str(one.out)]
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    assert (
        "80 questions now, and at most 80 in later rounds" in said and "batches/round-1: 80 requests" in said
    )
    assert f"halluscope ask import FILE... --exported {one.out} --store" in said
    lines = carried_out(one.out.glob("round-1/judge-*"))
    lines[0]["response"] = {"status_code": 400, "body": {"error": {"message": "bad \x1b[2J"}}}
    came = str(written(one.folder / "came.jsonl", lines))
    assert cli.main(["ask", "import", came, "--exported", str(one.out), *store]) == 0
    said = capsys.readouterr().out
    assert (
        "80 replies to 80 requests: 79 are new, 0 are to requests with a reply already, which stays." in said
    )
    assert (
        'HTTP 400: 1, such as \'{"error": {"message": "bad' in said
        and "\x1b" not in said
        and "--leave-out" in said
    )
    one.words.append("--json")
    while (exported := one.export())["files"]:
        one.answered(exported)
    one.words.remove("--json")
    assert cli.main(words) == 0
    assert "Nothing is left to ask: run `halluscope score throne`" in capsys.readouterr().out


# Nothing is lost


class Killed(BaseException):
    """Interrupt as a signal would."""


def test_an_export_that_is_killed_leaves_nothing(run, monkeypatch):
    one = run("hqh")
    first = one.export()
    one.import_(written(one.folder / "some.jsonl", one.carried_out(first)[:3]))
    before = sorted(one.folder.rglob("*"))

    def kill(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("halluscope.judging.batch.json_line", kill)
        with pytest.raises(Killed):
            one.export()
    assert sorted(one.folder.rglob("*")) == before
    assert one.export()["requests"] == 5


def test_a_list_that_was_changed_is_refused(run):
    one = run("hqh")
    exported = one.export()
    came = written(one.folder / "came.jsonl", one.carried_out(exported))
    file = Path(exported["round"]) / batch.LIST
    rows = [json.loads(line) for line in file.open()]
    for change in (
        {"repeat": 1},
        {"prompt": "00"},
        {"judge": 1},
        {"more": 1},
        {"seed": 2**70},
        {"empty": 0},
    ):
        written(file, [rows[0] | change, *rows[1:]])
        assert "asked.jsonl, line 1" in one.import_(came, ends=2)


# Large files


def test_a_large_file_is_read_line_by_line(tmp_path):
    import tracemalloc

    file = tmp_path / "large.jsonl"
    line = json.dumps({"a": "x" * 2000}) + "\n"
    file.write_text(line * 10_000)
    tracemalloc.start()
    assert sum(1 for _ in opening.lines(file)) == 10_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20 < file.stat().st_size


def test_a_line_may_be_as_long_as_a_reply(run):
    one = run("hqh")
    good = one.carried_out(one.export())
    long = written(one.folder / "long.jsonl", [good[0], good[1] | {"more": "x" * 9_000_000}])
    said = one.import_(long, ends=2)
    assert "limit 'reply'" in said and "--limits reply=" in said
    assert one.export()["requests"] == 8
