"""A run is a folder, written completely or not at all, and scored again from its content, for every benchmark."""

import gzip
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halluscope
from halluscope import registry, vocabularies
from halluscope.benchmark import Benchmark
from halluscope.errors import OutputError, RunError
from halluscope.reporting.judged_report import LONGEST_REPLY
from halluscope.runs import folder as folders
from halluscope.runs.comparing import compare
from halluscope.runs.folder import check
from halluscope.runs.run import score
from halluscope.runs.verifying import differences
from halluscope.stats.bootstrap import Bootstrap
from tests.runs.made import SAID, Fitting, change, made, moody, write
from tests.small_datasets import needs

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* was built from annotations without"),
    pytest.mark.filterwarnings("ignore:.* prompts have no readable verdict"),
    pytest.mark.filterwarnings("ignore:.* extra claims that the judge quotes"),
]
ALL = [one for one in registry.benchmarks() if one.is_scored]
OF_VERDICTS = [one for one in ALL if one.judges and one.judges.kind == "verdicts"]


def each(of: list[Benchmark]) -> Any:
    return pytest.mark.parametrize("benchmark", of, ids=lambda one: one.name)


def told(folder: Path) -> list[str]:
    return list(differences(folder))


@each(ALL)
def test_scored_written_read_and_scored_once_more(benchmark, tmp_path):
    run = made(benchmark, tmp_path)
    folder = write(run, tmp_path / "run")
    assert told(folder) == []
    for file in ("scores.json", "run.json"):
        assert json.loads((folder / file).read_text())["signature"] == run.scores["signature"]
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert [row["response"] for row in rows] == run.ready.matched.texts
    assert all(not row.keys() & {"response", "ballots", "inputs"} for row in run.found)
    assert all(set(registry.first_dataset(benchmark).key) <= row.keys() for row in rows)
    again = folders.read(folder)
    assert (again.name, again.scores.keys()) == (run.name, run.scores.keys())


@each(OF_VERDICTS)
@pytest.mark.parametrize("repeats", [1, 2])
def test_what_a_language_model_said_is_read_again(benchmark, repeats, tmp_path):
    """Readable verdicts in the words of each room, unreadable ones, missing replies; a judge is not asked twice."""
    verdict = json.dumps({"verdict": "incorrect", "extra_claims": 1, "evidence": ["dog"]})
    judge = moody(["incorrect", "same", verdict, None, "nonsense"])
    run = made(benchmark, tmp_path, judge=judge, repeats=repeats, max_failed=1.0)
    asked = len(judge.asked)
    folder = write(run, tmp_path / "run")
    assert told(folder) == [] and len(judge.asked) == asked
    replies = [json.loads(line) for line in (folder / "replies.jsonl").read_text().splitlines()]
    assert {row["repeat"] for row in replies} == {*range(repeats)}


@each(OF_VERDICTS)
def test_a_reply_that_cannot_be_read_is_shown_in_one_short_line(benchmark, tmp_path):
    """Of rows without a verdict alone; it is read again from the folder."""
    hostile = "<script>document.title = 'broken'</script>\n\x1b[31m" + "x" * 5000
    run = made(benchmark, tmp_path, judge=moody([hostile]), max_failed=1.0)
    folder = write(run, tmp_path / "run")
    assert told(folder) == []
    shown = 0
    for item in folders.view(folders.read(folder)):
        replies = [fact for fact in item.facts if fact.name == "unreadable reply"]
        assert bool(replies) <= bool({"unread", "unreadable", "unjudged"}.intersection(item.errors))
        for fact in replies:
            ((text, kind),) = fact.values
            assert text.startswith("<script>document.title = 'broken'</script>") and len(
                text
            ) <= LONGEST_REPLY + len("...")
            assert kind == "open" and "\x1b" not in text and "\n" not in text
            shown += 1
    assert shown


@needs("mmhal")
def test_a_given_text_that_cannot_be_read_is_shown(tmp_path):
    benchmark = registry.benchmark("mmhal")
    rows = made(benchmark, tmp_path).found
    texts = [{"judge_text": "Rating: 3"}] + [{"judge_text": "Who knows?"}] * (len(rows) - 1)
    (tmp_path / "ratings.json").write_text(
        json.dumps([{"id": row["id"], **text} for row, text in zip(rows, texts, strict=True)])
    )
    run = made(benchmark, tmp_path, judge="none", ratings=str(tmp_path / "ratings.json"))
    first, *others = folders.view(folders.read(write(run, tmp_path / "run")))
    facts = [fact.values for item in others for fact in item.facts if fact.name == "unreadable reply"]
    assert facts == [[("Who knows?", "open")]] * len(others)
    assert all(fact.name != "unreadable reply" for fact in first.facts)


# Whoever changes anything is found, also with checksums made anew


def another_digit(value: Any) -> Any:
    """Return the same nested numbers, with the first slightly larger."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if (moved := another_digit(inner)) != inner:
                return {**value, name: moved}
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return value + (1 if isinstance(value, int) else 0.001)


def other_response(rows):
    return [{**rows[0], "response": rows[0]["response"] + "!"}, *rows[1:]]


def other_found(rows):
    """Change the last finding in the first row."""
    own = [name for name in rows[0] if name not in ("response", "ballots", "inputs")][-1]
    return [{**rows[0], own: "something else"}, *rows[1:]]


def other_level(facts):
    return {**facts, "signature": facts["signature"].replace("interval:0.95", "interval:0.9")}


CHANGES = {
    "a digit of a score": ("scores.json", another_digit, "scores.json, "),
    "the signature of the run": ("run.json", other_level, "run.json, signature"),
    "an option": ("run.json", lambda run: run | {"options": run["options"] | {"level": 0.9}}, "'signature'"),
    "how many rows": ("run.json", lambda run: run | {"rows": 1}, "run.json, rows"),
    "a response": ("items.jsonl", other_response, "'texts'"),
    "what was found": ("items.jsonl", other_found, "items.jsonl, row 1"),
    "a row less": ("items.jsonl", lambda rows: rows[:-1], ""),
}


@each(ALL)
def test_each_change_is_found(benchmark, tmp_path):
    run = made(benchmark, tmp_path)
    for number, (what, (name, by, said)) in enumerate(CHANGES.items()):
        for sealed in (False, True):
            folder = write(run, tmp_path / f"{number}-{sealed}")
            change(folder, name, by, sealed)
            found = told(folder)
            assert any(said in line for line in found), (what, found)
            assert (f"{name} was changed" in found) is not sealed, (what, found)


@needs("throne")
def test_a_changed_vote_is_told(tmp_path):
    folder = write(made(registry.benchmark("throne"), tmp_path), tmp_path / "run")
    first, *more = json.loads((folder / "items.jsonl").read_text().splitlines()[0])["ballots"]
    place = first.index("1")
    for sign in "01?-":
        votes = {"ballots": [first[:place] + sign + first[place + 1 :], *more]}
        change(folder, "items.jsonl", lambda rows, votes=votes: [{**rows[0], **votes}, *rows[1:]])
        assert bool(told(folder)) is (sign != "1"), sign
    change(folder, "items.jsonl", lambda rows: [{**row, "ballots": ["2" * 80] * 3} for row in rows])
    assert "The votes do not form a table" in told(folder)[0]


@each(OF_VERDICTS)
def test_a_changed_reply_is_told(benchmark, tmp_path):
    """Turn a judge's readable reply into nonsense."""
    run = made(benchmark, tmp_path, judge=Fitting(), max_failed=1.0)
    folder = write(run, tmp_path / "run")
    assert told(folder) == []
    change(folder, "replies.jsonl", lambda rows: [{**row, "reply": "nonsense"} for row in rows])
    assert told(folder)
    change(folder, "run.json", lambda run: {**run, "grader": None})
    assert told(folder)  # and nobody was looked for who might be asked


def test_files_that_are_missing_or_no_run(tmp_path):
    run = made(ALL[0], tmp_path)
    for name in ("scores.json", "items.jsonl"):
        folder = write(run, tmp_path / name)
        (folder / name).unlink()
        found = told(folder)
        assert found[0] == f"{name} is missing" and "is not a run, or was changed" in found[1]
    for text in ("", "[]", "{}", '{"form": 2, "version": "0"}', "\x00"):
        (folder / "run.json").write_text(text)
        with pytest.raises(RunError, match="is not a run|was made by halluscope"):
            folders.read(folder)
    (folder / "SHA256SUMS").unlink()
    assert told(folder)[0] == "SHA256SUMS is missing"
    with pytest.raises(RunError, match="There is no run in"):
        folders.folders([tmp_path / "nowhere"])


def test_runs_are_found_at_any_depth(tmp_path, ran):
    """Once each, also behind links; not where another process is writing one; and a damaged one stops no other."""
    run = made(ALL[0], tmp_path / "made")
    top = tmp_path / "top"
    names = ("a", "b/c/d/e", "half", "lost")
    for name in names:
        write(run, top / name)
    write(run, top / ".f.halluscope-unfinished/new")
    (top / "b/above").symlink_to(top)
    (top / "linked").symlink_to(top / "a")
    (top / "half/SHA256SUMS").unlink()
    (top / "lost/run.json").unlink()
    said = ran("verify", top, status=2)
    assert said.out.count("unchanged") == 2 and "2 of 4 runs did not pass" in said.err
    assert f"{top}/half: SHA256SUMS is missing" in said.err and f"{top}/lost: run.json is missing" in said.err
    with pytest.raises(RunError, match="lost: run.json is missing"):
        check(top / "lost")


def test_checksums_are_those_of_sha256sum(tmp_path):
    """`sha256sum` reads them; one that is left out is missed."""
    folder = write(made(ALL[0], tmp_path), tmp_path / "run")
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
    sums = folder / "SHA256SUMS"
    whole = sums.read_text()
    sums.write_text(f"{whole}a word\n")
    assert told(folder) == ["SHA256SUMS was changed"]
    sums.write_text(whole)
    sums.write_text("\n".join(line for line in sums.read_text().splitlines() if "items" not in line))
    assert told(folder) == ["SHA256SUMS was changed"]
    with pytest.raises(RunError, match="SHA256SUMS was changed"):
        check(folder)


# Hostile text


@needs("throne")
def test_text_of_any_kind_comes_back_as_it_was(tmp_path):
    said = ["\ud800 half", "\0\x1b[31m\r\n\u2028", "x" * 1_000_000, '=cmd|"</script>', "\\input{x} | **y**"]
    run = made(registry.benchmark("throne"), tmp_path, said)
    folder = write(run, tmp_path / "run")
    assert told(folder) == []
    assert folders.read(folder).ready.matched.texts == run.ready.matched.texts
    assert len((folder / "items.jsonl").read_bytes().split(b"\n")) == len(run.found) + 1


def test_names_of_responses_make_no_path(tmp_path):
    run = made(ALL[0], tmp_path)
    names = ["../up", "..", "", "a/b", "A_B", "\ud800", "x" * 300, "run.json", "狗" * 100, "كلب" * 100]
    ready = run.ready
    several = [ready._replace(matched=ready.matched._replace(name=name)) for name in names]
    folders.write([replace(run, ready=one) for one in several], tmp_path / "several")
    inner = folders.folders([tmp_path / "several"])
    assert len(inner) == len(names) and {one.parent for one in inner} == {tmp_path / "several"}
    assert {folders.read(one).name for one in inner} >= {*names} - {"\ud800"}
    assert all(told(one) == [] for one in inner)


# The commands


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A command that writes a run, without the run's name."""
    monkeypatch.chdir(tmp_path)
    rows = [{"image_id": n, "caption": text} for n, text in enumerate(SAID[:3])]
    for name in ("mine", "other"):
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("labels.json").write_text(json.dumps({n: ["dog"] for n in range(3)}))
    fixed = "--dataset labels.json --bootstrap 10 --judges lexical --quiet --out"
    return f"score throne --responses mine.jsonl {fixed}"


def test_what_is_known_of_the_responses_is_kept(tmp_path):
    """An older version of the questions, other prompts, what was not compared, and scores that their file states."""
    run = made(registry.benchmark("pope"), tmp_path)
    known = {"version": "2023-05", "prompts": ["short", ""], "uncompared": {"image": 2}}
    known |= {"figures": {"accuracy": 50.0, "unparsed": 0.5}, "labels": ["1", "0"]}
    ready = run.ready._replace(matched=run.ready.matched._replace(**known))
    scored = score(run.benchmark, ready, run.options)
    assert "|questions:2023-05|" in scored.scores["signature"]
    percentages = {"accuracy": 0.5, "unparsed": 0.005}
    assert scored.scores["printed"] == percentages
    assert told(write(scored, tmp_path / "run")) == []


@needs("throne")
def test_score_and_verify(words, ran, refused):
    several = words.replace("mine.jsonl", "mine.jsonl other.jsonl")
    ran(several, "run")
    assert {file.name for file in Path("run").iterdir()} == {"mine", "other"}
    facts = json.loads(Path("run/mine/run.json").read_text())
    assert facts["command"] == [*several.split(), "run"]
    assert facts["voters"]["judges"][0].startswith("lexical")
    assert ran("verify run").out.count("its scores follow from its rows") == 2
    change(Path("run/mine"), "scores.json", another_digit)
    printed = ran("verify run/other run/mine", status=2)
    assert printed.out.startswith("run/other: unchanged")
    assert "run/mine: scores.json, " in printed.err and "1 of 2 runs did not pass" in printed.err
    refused("verify labels.json")


@needs("throne")
def test_a_resumed_and_killed_run_verifies(words, ran):
    """A response that is repeated, a row without one, and a last line that is cut off are counted in the folder too."""
    lines = Path("mine.jsonl").read_text().splitlines()
    no_response = json.dumps({"image_id": 1})
    Path("mine.jsonl").write_text("\n".join([lines[0], lines[0], no_response, lines[2], lines[1][:-4]]))
    ran(words, "run", "--partial")
    scores = json.loads(Path("run/scores.json").read_text())
    assert [scores[name] for name in ("repeats", "without_response", "cut_ends")] == [1, 1, 1]
    assert ran("verify run").out == "run: unchanged, and its scores follow from its rows\n"


@needs("chair")
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_files_that_options_name_are_kept(packed, tmp_path):
    """A user's own synonym list is stored with the run."""
    benchmark = registry.benchmark("chair")
    words = tmp_path / f"synonyms.txt{packed}"
    content = "\n".join(vocabularies.load("coco").classes).encode()
    words.write_bytes(gzip.compress(content) if packed else content)
    options = {"synonyms": str(words), "allow_other_synonyms": True}
    folder = write(made(benchmark, tmp_path, **options), tmp_path / "run")
    words.unlink()
    (copy,) = (folder / "files").iterdir()
    assert copy.name.startswith("synonyms") and copy.name.endswith(packed) and told(folder) == []
    kept = copy.rename(tmp_path / "kept")
    missing, why = told(folder)
    assert missing == f"files/{copy.name} is missing" and "it cannot be scored again: There is no file" in why
    kept.rename(copy)
    outside = {"synonyms": "../labels.json"}
    change(folder, "run.json", lambda run: {**run, "options": run["options"] | outside})
    assert "is outside the folder" in told(folder)[0]


@needs("throne")
def test_votes_that_are_given(tmp_path):
    """Given votes belong to their images, in any order; a changed vote is found."""
    rng = np.random.default_rng(0)
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({n: ["dog"] for n in range(6)}))
    responses = [{"image_id": n, "caption": "A dog."} for n in range(6)]
    given: dict[str, Any] = {"votes": rng.integers(0, 2, (6, 80, 3)), "per_image": True, "bootstrap": 20}
    written = halluscope.score("throne", responses, labels, out=tmp_path / "run", **given)
    plain = halluscope.score("throne", responses, labels, **given)
    assert sorted(map(repr, written.items())) == sorted(map(repr, plain.items()))
    assert told(tmp_path / "run") == []

    def other(rows):
        dog = rows[0]["inputs"]["votes"][16]
        rows[0]["inputs"]["votes"][16] = [int(not all(dog))] * 3
        return rows

    change(tmp_path / "run", "items.jsonl", other)
    assert told(tmp_path / "run")


GIVEN = {
    "hallusionbench": {"correctness": [0, 1, 2], "same": [1, 0, 1]},
    "hqh": {"ratings": [{"correct": True, "extra_claims": 1}, None] * 4},
    "mmhal": {"ratings": [3, None, 6]},
    "haloquest": {"ratings": [True, None, False]},
    "amber": {"nouns": [["dog", "cat"]]},
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in GIVEN])
def test_what_stands_for_a_judges_work(name, tmp_path):
    """No judge is named if verdicts are given."""
    nobody = {"judge": ""} if name in ("mmhal", "haloquest") else {}
    run = made(registry.benchmark(name), tmp_path, **GIVEN[name], **nobody)
    folder = write(run, tmp_path / "run")
    assert told(folder) == []
    other = folders.read(write(run, tmp_path / "other"))
    assert compare({"one": folders.read(folder), "other": other}, [], Bootstrap(10)).rows == len(run.found)


@needs("throne")
def test_options_that_no_folder_can_hold(tmp_path):
    """Refused before a judge is asked."""
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({1: ["dog"]}))
    given: dict[str, Any] = {"name": "throne", "responses": [{"image_id": 1, "caption": "A dog."}]}
    given |= {"dataset": labels, "out": tmp_path / "run"}
    with pytest.raises(RunError, match="cannot be written to a run's folder"):
        halluscope.score(**given, vocabulary=vocabularies.load("coco"), judges="no/judge")
    for taken, error, said in (
        (7, ValueError, "out is 7; expected the name of a new folder"),
        (tmp_path, OutputError, "is there already"),
    ):
        with pytest.raises(error, match=said):
            halluscope.score(**given | {"out": taken})
    halluscope.score(**given, judges=halluscope.load_judge("lexical"))
    assert told(tmp_path / "run") == []
