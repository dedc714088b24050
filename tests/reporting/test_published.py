"""Published scores are consistent; `perf/published_tables.py` compares them with the papers' text."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from halluscope import registry
from halluscope.paths import PACKAGE
from halluscope.reporting import published
from halluscope.reporting.published_table import MINUS
from tests.small_datasets import needs

NO_SHARES = {
    *("pct_diff", "median_characters", "words", "words_parallel", "rank", "score", "questions", "images"),
    *("edited_questions", "edited_images", "no_visual", "original", "edited", "responses", "evaluated"),
    *("judgements", "errors", "false_positives", "hallucinations", "misclassifications"),
}
ROOT = Path(__file__).parents[2]


def cells(file):
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.reader(opened, strict=True))


@pytest.mark.parametrize("name", sorted(published.tables()))
def test_shares_are_fractions(name):
    paper = published.load(name)
    table = published.tables()[name]
    printed = ("Table", "Figure", "README", "card", "logs")
    assert any(word in paper.source for word in printed) and table.url.startswith("https://") and table.title
    for model, row in paper.results:
        for score, value in row.items():
            if score not in NO_SHARES:
                assert (-1 if "difference" in model else 0) <= value <= table.highest, (model, score)


def test_each_csv_file_is_a_declared_table():
    files = {file for file in (PACKAGE / "benchmarks").glob("*/published/*") if file.is_file()}
    assert {table.file for table in published.tables().values()} == files


@pytest.mark.parametrize("table", published.tables().values(), ids=lambda table: table.name)
def test_each_cell_is_read(table):
    """The name, then words, then lists, then numbers; nothing of a cell is lost but the zeros after a number."""
    header, *lines = cells(table.file)
    first = ["name", *table.facts, *table.lists]
    assert header[: len(first)] == first and set(table.not_in_percent) <= set(header[len(first) :])
    assert len(set(header)) == len(header) and set(table.chosen_by) <= set(table.facts)
    rows = table.rows()
    assert len(rows) == len(lines) > 0
    for line, row in zip(lines, rows, strict=True):
        written = {column: text for column, text in zip(header, line, strict=True) if text}
        scores = table.scores(row)
        if row.facts.get(table.sign) == MINUS:
            scores = {name: 1 - value for name, value in scores.items()}
        assert (
            list(written) == ["name", *row.facts, *row.lists, *row.printed]
            and scores.keys() == row.printed.keys()
        )
        for column, text in written.items():
            if column in table.lists:
                assert ";".join(row.lists[column]) == text and all(row.lists[column])
            elif column in table.facts:
                assert row.facts[column] == text
            elif column != "name":
                share = 1 if column in table.not_in_percent else 100
                assert float(text) == row.printed[column] == pytest.approx(share * scores[column])
                assert isinstance(row.printed[column], int) == ("." not in text)


@needs("hqm")
def test_hqms_tables_are_whole_and_in_the_papers_order():
    names = [name.partition(" [")[0] for name, _ in published.load("hqm").results]
    assert names == ["POPE", "AMBER-d", "AMBER-g", "OpenCHAIR", "MMHal", "GAVIE", "HQH"]
    assert published.tables()["hqm"].rows()[1].lists == {"types": ["object", "attribute", "scene"]}
    assert "content" not in published.load("hqm").results[-1][1]  # HQH is its authors' own
    leaders = published.load("hqm_leaderboards").results
    assert [row["rank"] for _, row in leaders] == [1, 2, 3, 4, 5] * 4


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
def test_votes_of_throne():
    """Nine votes that agree are Table 1; a majority of nine leaves nothing out."""
    table_1 = published.load("throne_coco").results
    rows = published.load("throne_votes").results
    of_nine = {name.partition(" [")[0]: row for name, row in rows if "9 of 9" in name}
    for model, row in of_nine.items():
        model = {"MiniGPT-4": "MiniGPT4"}.get(model, model)  # as each table prints it
        same = next(scores for known, scores in table_1 if known.startswith(f"{model} ["))
        both = row.keys() & same.keys()
        assert both and {score: row[score] for score in both} == {score: same[score] for score in both}
    assert len(of_nine) == 10
    assert {row["ignored"] for name, row in rows if "5 of 9" in name} == {0.0}


@needs("throne")
def test_printed_rows_of_throne_agree():
    """Differences are all cells less the sampled ones, to the rounding; error rates are errors over judgements."""
    rows = dict(published.load("throne_sampling").results)
    for name, row in rows.items():
        if "difference" in name:
            everywhere, sampled = (rows[name.replace("difference", cells)] for cells in ("all", "sampled"))
            less = {score: everywhere[score] - sampled[score] for score in row}
            assert row == pytest.approx(less, abs=2e-3), name  # F0.5 by class of MiniGPT-v2 is printed as 8.6
    for name, row in published.load("throne_against_chair").results:
        assert row["error_rate"] == pytest.approx(row["errors"] / row["judgements"], abs=1e-3), name
    (found,) = (row for _, row in published.load("throne_false_positives").results)
    assert found["hallucinations"] + found["misclassifications"] == found["false_positives"]


@needs("hallusionbench")
def test_hallusionbenchs_questions_add_up():
    rows = dict(published.load("hallusionbench_questions").results)
    total = rows.pop("Overall")
    for column in total:
        assert sum(row.get(column, 0) for row in rows.values()) == total[column]


@needs("hqm")
def test_the_comparison_with_the_papers_notices_a_cell(tmp_path):
    """On a made-up paper: two published rows, then one cell changed."""
    script = [sys.executable, str(ROOT / "perf" / "published_tables.py"), str(tmp_path)]
    pope = published.load("hqm_yes_ratios").results[0]
    line = "\t".join([pope[0].partition(" [")[0], *(str(value) for value in pope[1].values())])
    counted = []
    for text in (line, line.replace("0.548", "0.549")):
        (tmp_path / "paper.txt").write_text(text)
        said = subprocess.run(script, capture_output=True, text=True, timeout=120).stdout
        counted.append(next(part for part in said.splitlines() if part.startswith("hqm/hqm_yes_ratios")))
    assert "1 of 8 rows" in counted[0] and "0 of 8 rows" in counted[1]
