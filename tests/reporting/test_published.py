"""Published scores are consistent; `perf/published_tables.py` compares them with the papers' text."""

import csv

import pytest

from halluscope import registry
from halluscope.paths import PACKAGE
from halluscope.reporting import published
from tests.small_datasets import needs

NO_SHARES = {"pct_diff", "median_characters"}


def cells(file):
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.reader(opened, strict=True))


@pytest.mark.parametrize("name", sorted(published.tables()))
def test_shares_are_fractions(name):
    paper = published.load(name)
    table = published.tables()[name]
    printed = ("Table", "Figure", "README", "card", "logs")
    assert any(word in paper.source for word in printed), (
        f"`source` is {paper.source!r}; name one of {printed}."
    )
    assert table.url.startswith("https://")
    for model, row in paper.results:
        for score, value in row.items():
            if score not in NO_SHARES:
                assert 0 <= value <= table.highest, (model, score)


def test_each_csv_file_is_a_declared_table():
    files = {file for file in (PACKAGE / "benchmarks").glob("*/published/*") if file.is_file()}
    assert {table.file for table in published.tables().values()} == files


@pytest.mark.parametrize("benchmark", registry.benchmarks(), ids=lambda benchmark: benchmark.name)
def test_public_files_about_the_same_data_stand_apart(benchmark):
    file = PACKAGE / "benchmarks" / benchmark.name / "public_files.csv"
    if not file.is_file():
        assert published.computed(benchmark, [("mine", {"signature": "x|data:x-1-0|version:0"})]) is None
        return
    header, *lines = cells(file)
    first = ["repository", "path", "commit", "data", "printed"]
    assert header[:5] == first and set(header[5:]) <= set(benchmark.scores)
    files = [dict(zip(header, line, strict=True)) for line in lines]
    for data in {public["data"] for public in files}:
        signature = f"{benchmark.name}|data:{data}|version:0"
        table = published.computed(benchmark, [("mine", {"signature": signature})])
        same = [public for public in files if public["data"] == data]
        assert table and table.of.startswith("computed here") and len(table.rows) == len(same)
        for row, public in zip(table.rows, same, strict=True):
            assert row[0].startswith(public["repository"]) and len(public["commit"]) == 40
            assert row[-1] == public["printed"]
            for column, cell in zip(table.header[1:-1], row[1:-1], strict=True):
                assert cell.value == (float(public[column]) if public[column] else None)
            shown = [column for column in header[5:] if public[column]]
            assert shown and set(shown) <= set(table.header)


@needs("throne")
@pytest.mark.parametrize("name", ["throne_coco", "throne_objects365"])
def test_thrones_f_is_that_of_the_printed_means(name):
    rows = published.load(name).results
    assert len(rows) == 11
    for model, row in rows:
        for kind in ("all", "cls"):
            if (name, model, kind) == ("throne_coco", "LLaVA-Mistral [FLAN-T5, class_f mean]", "cls"):
                continue  # as printed: the one row whose F is not that of the printed means
            p, r = row[f"precision_{kind}"], row[f"recall_{kind}"]
            assert row[f"f1_{kind}"] == pytest.approx(2 * p * r / (p + r), abs=4e-3), (name, model)
