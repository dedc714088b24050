"""Published scores are consistent; `perf/published_tables.py` compares them with the papers' text."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from halluscope import registry
from halluscope.reporting import published
from tests.small_datasets import needs

NO_SHARES = {
    *("pct_diff", "median_characters", "words", "words_parallel", "rank", "score", "questions", "images"),
    *("edited_questions", "edited_images", "no_visual", "original", "edited", "responses", "evaluated"),
    *("judgements", "errors", "false_positives", "hallucinations", "misclassifications"),
}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(published.tables()))
def test_shares_are_fractions(name):
    found = published.load(name)
    about = next(part for part in published.tables()[name] if "title" in part)
    printed = ("Table", "Figure", "README", "card", "logs")
    assert any(word in found.source for word in printed) and about["url"].startswith("https://")
    for model, row in found.results:
        for score, value in row.items():
            if not isinstance(value, list) and score not in NO_SHARES:
                assert (-1 if "difference" in model else 0) <= value <= about.get("most", 1), (model, score)


@pytest.mark.parametrize("benchmark", registry.benchmarks(), ids=lambda one: one.name)
def test_public_files_about_the_same_data_stand_apart(benchmark):
    file = benchmark.folder / published.REFERENCE
    if not file.is_file():
        assert published.computed(benchmark, [("mine", {"signature": "x|data:x-1-0|version:0"})]) is None
        return
    files = tomllib.loads(file.read_text(encoding="utf-8"))["files"]
    for data in {one["data"] for one in files}:
        signature = f"{benchmark.name}|data:{data}|version:0"
        table = published.computed(benchmark, [("mine", {"signature": signature})])
        same = [one for one in files if one["data"] == data]
        assert table and table.of.startswith("computed here") and len(table.rows) == len(same)
        for row, one in zip(table.rows, same, strict=True):
            values = dict(zip(table.header[1:-1], (cell.value for cell in row[1:-1]), strict=True))
            assert {score: value for score, value in values.items() if value is not None} == one["scores"]
            assert row[0].startswith(one["repository"]) and len(one["commit"]) == 40


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


def test_the_comparison_with_the_papers_notices_a_cell(tmp_path):
    """On a made-up paper: two published rows, then one cell changed."""
    script = [sys.executable, str(ROOT / "perf" / "published_tables.py"), str(tmp_path)]
    pope = published.load("hqm_yes_ratios").results[0]
    line = "\t".join([pope[0].partition(" [")[0], *(str(value) for value in pope[1].values())])
    counted = []
    for text in (line, line.replace("0.548", "0.549")):
        (tmp_path / "paper.txt").write_text(text)
        said = subprocess.run(script, capture_output=True, text=True, timeout=120).stdout
        counted.append(next(part for part in said.splitlines() if part.startswith("pope/hqm_yes_ratios")))
    assert "1 of 4 rows" in counted[0] and "0 of 4 rows" in counted[1]
