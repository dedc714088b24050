"""Runs of several models compared: the same for every benchmark, and never on different rows."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from halluscope import registry
from halluscope.errors import RunError
from halluscope.runs import folder as folders
from halluscope.runs.comparing import compare
from halluscope.runs.comparison_report import of_parts
from halluscope.runs.run import rescore
from halluscope.stats.bootstrap import Bootstrap
from tests.runs.made import change, made, write
from tests.small_datasets import needs

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* was built from annotations without"),
]
ALL = [one for one in registry.benchmarks() if one.is_scored]
OTHER = ("A cat, a dog, two cups and a person.", "No.", "I see a bus.", "Yes, it is.")


def only(run, places):
    """Return a run with responses to some rows only."""
    columns = {name: [values[place] for place in places] for name, values in run.columns.items()}
    ready = run.ready._replace(matched=run.ready.matched.only(places), inputs={**run.ready.inputs, **columns})
    return rescore(replace(run, ready=ready, record=run.record.finished(places)))


@pytest.mark.parametrize("benchmark", ALL, ids=lambda one: one.name)
def test_two_models_under_each_benchmark(benchmark, tmp_path):
    one, other = (made(benchmark, tmp_path, said) for said in (("A dog. Yes.",), OTHER))
    defined = [name for name in benchmark.scores if name in one.scores["interval"]]
    found = compare({"one": one, "other": other}, defined, Bootstrap(20, 1))
    assert found.rows == len(one.found)
    assert found.unlike.keys() <= {"judges"}  # whose key may hold the classes that it knows
    for compared in found.scores:
        values = one.scores[compared.score], other.scores[compared.score]
        assert repr(compared.values) == repr(values)
        if not any(map(math.isnan, values)):
            assert compared.by.value == pytest.approx(values[0] - values[1])
    itself = compare({"one": one, "again": one}, defined, Bootstrap(20))
    assert {compared.by.value for compared in itself.scores if not math.isnan(compared.by.value)} <= {0.0}
    assert {compared.by.p for compared in itself.scores if not math.isnan(compared.by.p)} <= {1.0}
    assert all(compared.better is None for compared in itself.scores)


@needs("pope")
def test_runs_are_cut_to_the_rows_that_all_have(tmp_path):
    """The order of rows does not matter; a run of these rows alone gives the same scores."""
    one, other = (made(registry.benchmark("pope"), tmp_path, said) for said in (("Yes.", "No."), ("Yes.",)))
    some = list(range(6, 18))
    part = only(other, some[::-1])
    found = compare({"one": one, "part": part}, [], Bootstrap(20))
    alone = compare({"one": only(one, some), "other": only(other, some)}, [], Bootstrap(20))
    assert (found.rows, found.of) == (12, {"one": 18, "part": 12})
    assert [(row.values, row.by) for row in found.scores] == [(row.values, row.by) for row in alone.scores]
    with pytest.raises(RunError, match="have no row in common.*--responses NAME=FILE,FILE"):
        compare({"part": part, "rest": only(one, list(range(6)))}, [], Bootstrap(20))


@needs("throne", "chair", "pope")
def test_what_cannot_be_compared(tmp_path):
    throne, chair, pope = (made(registry.benchmark(name), tmp_path) for name in ("throne", "chair", "pope"))
    labels = {**throne.ready.inputs, "references": [["cat"]] * len(throne.found)}
    other = rescore(replace(throne, ready=throne.ready._replace(inputs=labels)))
    for error, runs, scores, resamples, said in (
        (RunError, [throne, chair], [], 5, "The runs are of throne, chair; expected runs of one benchmark"),
        (ValueError, [throne], [], 5, "needs at least 2 runs; got a"),
        (ValueError, [throne, throne], [], 0, "needs intervals; got bootstrap=0"),
        (RunError, [pope, pope], ["right"], 5, "no score 'right' in common; expected one of accuracy, prec"),
        (RunError, [throne, other], [], 5, "Rows with the same ids differ between these runs"),
    ):
        with pytest.raises(error, match=said):
            compare(dict(zip("ab", runs, strict=False)), scores, Bootstrap(resamples))


def captions(tmp_path, *texts):
    """A run of CHAIR on images with a dog, with a text for each."""
    run = made(registry.benchmark("chair"), tmp_path)
    ids = list(range(len(texts)))
    rows = [type("Row", (), {"image_id": place}) for place in ids]
    matched = run.ready.matched._replace(rows=rows, texts=[*texts], asked=())
    inputs = {"references": [["dog"]] * len(texts), "image_ids": ids, "forms": [""] * len(texts)}
    return rescore(replace(run, ready=run.ready._replace(matched=matched, inputs=inputs)))


@needs("chair")
def test_recalls_of_classes_are_compared(tmp_path):
    """30 images with a dog; one model mentions it in all, the other a cat: by hand, recall 1 and 0, precision 0."""
    runs = {f"{name}s": captions(tmp_path, *[f"A {name}."] * 30) for name in ("dog", "cat", "bird")}
    birds = runs.pop("birds")
    (only_class,) = compare(runs, [], Bootstrap(20)).classes
    assert (only_class.score, only_class.values, only_class.better) == ("recall of dog", (1.0, 0.0), "dogs")
    assert only_class.by.p == pytest.approx(math.erfc(math.sqrt(30 / 2)))  # McNemar's chi squared is 30
    found = compare({**runs, "birds": birds}, [], Bootstrap(20))
    every, notes = of_parts(found, birds.benchmark)
    assert len(every.rows) == 2 and "--all" not in notes.lines[0]
    surest, notes = of_parts(found, birds.benchmark, 1)
    assert surest.rows == every.rows[:1]
    assert notes.lines[0].endswith("the 1 with the smallest p are shown, all with --all or .to_pandas()")


@needs("chair")
def test_why_a_score_is_not_tested_is_the_reason_of_either_run(tmp_path):
    """One model mentions nothing, so that its share of wrong mentions is undefined."""
    some = captions(tmp_path, *["A dog.", "A cat."] * 15)
    none = captions(tmp_path, *["Nothing."] * 30)
    for runs in ({"some": some, "none": none}, {"none": none, "some": some}):
        found = compare(runs, [], Bootstrap(20))
        assert found.untested.keys() == {row.score for row in found.scores if math.isnan(row.by.p)} != set()


@needs("pope")
def test_the_command(tmp_path, monkeypatch, ran, refused):
    monkeypatch.chdir(tmp_path)
    benchmark = registry.benchmark("pope")
    for name, said, parser in (("good", ("Yes.", "No."), "pope"), ("bad", ("No.", "Yes."), "strict")):
        run = made(benchmark, tmp_path, said, parser=parser)
        run = replace(run, ready=run.ready._replace(matched=run.ready.matched._replace(name=name)))
        write(run, Path(name))
    write(only(run, list(range(12))), Path("part"))
    text = ran("compare good bad --scores accuracy f1 --bootstrap 1000").out
    assert re.search(r"A +good +18", text)
    assert re.search(r"accuracy  A-B +100\.0 +0\.0 +\+100\.0 +1\.0000 +-\n", text), "one image tells nothing"
    said = "The runs were not scored alike, which also changes differences: parser is pope (good) and strict (bad)."
    assert said in text and "0 of 6 differences in groups are significant" in text
    write(made(benchmark, tmp_path, ("Yes.", "No."), parser="pope", thoughts="kept"), Path("kept"))
    assert "thoughts is not set (good) and kept (responses)." in ran("compare good kept --bootstrap 200").out
    latex = ["compare good bad --bootstrap 200 --format latex"]
    paper = ran(*latex).out
    assert paper.count(r"\begin{tabular}") == 1 and "accuracy & good - bad & 100.0" in paper
    assert ran(*latex, "--all").out.count(r"\begin{tabular}") == 2
    printed = ran("compare good part --bootstrap 200 --json")
    got = json.loads(printed.out)
    assert got["rows"] == 12 and got["scores"][0]["better"] in ("good", None)
    assert "Compared on the 12 rows that all runs have (good has 18)." in printed.err
    assert "resamples tell no p value small enough" not in printed.err
    change(Path("bad"), "scores.json", lambda scores: {**scores, "accuracy": 1.0}, sealed=False)
    assert "scores.json was changed. `halluscope verify bad`" in refused("compare good bad")
    assert folders.folders([Path("good"), Path("part")]) == [Path("good"), Path("part")]
