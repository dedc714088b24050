"""Tables of very many columns and objects of very many keys are refused, or read in time that grows with their size."""

import json
import time
from pathlib import Path

import pytest

from halluscope import cli
from tests import small_datasets

COLUMNS = 100_000
KEYS = 20_000
MOST_S = 30.0  # of processor time; a second or two on an idle machine


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files of a single row with very many columns, by the name of their format."""
    names = [f"column_{number}" for number in range(COLUMNS)]
    row = dict.fromkeys(names, 1)
    contents = {
        "csv": ",".join(names) + "\n" + ",".join(["x"] * COLUMNS),
        "tsv": "\t".join(names) + "\n" + "\t".join(["x"] * COLUMNS),
        "jsonl": json.dumps(row) + "\n" + json.dumps(row),
        "json": json.dumps(row),
    }
    files = {}
    folder = tmp_path_factory.mktemp("wide")
    for ending, content in contents.items():
        file = folder / f"wide.{ending}"
        file.write_text(content)
        files[ending] = str(file)
    return files


@pytest.fixture
def narrow(tmp_path: Path) -> dict[str, str]:
    """A small dataset of MMHal-Bench, and responses to it."""
    dataset = small_datasets.build("mmhal", tmp_path)
    responses = [{"id": number, "response": "There are two."} for number in range(3)]
    (tmp_path / "mine.json").write_text(json.dumps(responses))
    return {"--dataset": str(dataset), "--responses": str(tmp_path / "mine.json")}


def processor_time(words: list[str]) -> tuple[int, float]:
    """Return the exit status of a command, and the seconds of processor time that it took."""
    began = time.process_time()
    status = cli.main(words)
    return status, time.process_time() - began


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json"])
@pytest.mark.parametrize("door", ["inspect", "--dataset", "--responses", "--ratings"])
def test_a_row_of_very_many_columns(door, ending, wide, narrow, capsys):
    """Each ends soon with one line that names the file."""
    if door == "inspect":
        words = ["inspect", wide[ending]]
    else:
        words = ["score", "mmhal"]
        options = {**narrow, door: wide[ending]}
        if door != "--ratings":
            options["--judge"] = "none"
        for name, value in options.items():
            words += [name, value]
    status, seconds = processor_time(words)
    errors = capsys.readouterr().err
    assert status == 2
    assert f"wide.{ending}" in errors
    assert len(errors) < 1000
    if door in ("inspect", "--responses"):  # the other doors may refuse the format first
        assert "the limit 'columns'" in errors
        assert f"columns={COLUMNS}" in errors
    assert seconds < MOST_S


@pytest.mark.parametrize("value", ["Yes", {"response": "Yes"}], ids=["texts", "objects"])
def test_an_object_of_very_many_ids_takes_as_long_as_it_is_large(value, tmp_path, capsys):
    """Such an object is a response per id, however many; twice as many take about twice as long."""
    fewest = {}
    for keys in (KEYS, 2 * KEYS):
        file = tmp_path / f"{keys}.json"
        file.write_text(json.dumps({f"k{number}": value for number in range(keys)}))
        times = []
        for _ in range(3):
            status, seconds = processor_time(["inspect", str(file)])
            assert status == 0
            times.append(seconds)
        assert f"{keys:,} responses" in capsys.readouterr().out
        fewest[keys] = min(times)
    assert fewest[2 * KEYS] < 3 * fewest[KEYS] + 0.5
