"""The cards of every dataset and metric: they pass the Hub's validator, and their examples run."""

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import evaluate
import pytest
from datasets import Dataset
from huggingface_hub import DatasetCard, DatasetCardData, SpaceCard, SpaceCardData

from halluscope import registry
from halluscope.building import spec as specs
from halluscope.hub import contents
from halluscope.paths import share

# What the Hub accepts in a card's metadata.
TERMS = tomllib.loads((Path(__file__).parent / "card_terms.toml").read_text())


def code(text: str) -> str:
    """The first example of a card."""
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]


def check(data: Any) -> None:
    """The licence is one that the Hub knows, and named where it has to be; tags are a list."""
    assert data.license in TERMS["licenses"] and (data.license != "other" or data.license_name)
    assert isinstance(data.tags, list) and data.tags


@pytest.mark.parametrize("name", contents.datasets())
def test_a_dataset_card_is_what_the_hub_accepts(name: str, built: Path) -> None:
    text = (built / name / "README.md").read_text()
    loaded = DatasetCard(text)
    assert isinstance(loaded.data, DatasetCardData)
    check(loaded.data)
    assert loaded.data.pretty_name and loaded.data.dataset_info
    assert {*loaded.data.task_categories} <= {*TERMS["task_categories"]}
    assert loaded.data.license == specs.load(name).license
    assert loaded.data.language == ["en"] and loaded.data.size_categories == ["n<1K"]
    assert "{{ " not in text and "{%" not in text and "\n\n\n\n" not in text  # BibTeX has "{{"
    stats = json.loads((built / name / "stats.json").read_text())
    for table in stats["tables"]:
        unnamed = [column for column in table["columns"] if f"`{column}`" not in text]
        assert unnamed == [], f"dataset_cards/{name}.md does not say what these columns hold."
    assert [of["config_name"] for of in loaded.data.configs] == list(
        dict.fromkeys(t["config"] for t in stats["tables"])
    )
    default = registry.dataset(name).config
    assert [of["config_name"] for of in loaded.data.configs if of.get("default")] == [default] * bool(default)


@pytest.mark.parametrize("name", contents.metrics())
def test_a_metric_card_is_what_the_hub_accepts(name: str) -> None:
    text = contents.metric(name, "acme", "https://example.org/halluscope.whl").files["README.md"].decode()
    loaded = SpaceCard(text)
    assert isinstance(loaded.data, SpaceCardData)
    check(loaded.data)
    data = loaded.data.to_dict()
    assert data["license"] == "apache-2.0" and (data["sdk"], data["app_file"]) == ("gradio", "app.py")
    assert data["title"] and data["description"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", data["sdk_version"])
    assert (
        data["python_version"] == "3.11"
    )  # the oldest that we support; without it the Hub takes an older one
    assert {data.get("colorFrom", "red"), data.get("colorTo", "red")} <= {*TERMS["colors"]}
    assert {"evaluate", "metric"} <= {*data["tags"]}  # by which visitors find metrics
    for said in ("```bibtex", "**Limits.**", "predictions", "signature"):
        assert said in text, f"metrics/{name}/README.md says nothing of {said!r}."
    how_to_load = rf'evaluate\.load\("acme/{name}"\)  # after pip install "halluscope.* @ https://example\.org/halluscope\.whl"'
    assert re.search(how_to_load, text) and "clone" not in code(text)


TEXTS = ["A person drinks from a cup.", "A lawn.", "A dog."]


@pytest.mark.parametrize("name", contents.datasets())
def test_a_dataset_cards_example_runs(
    name: str, built: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = run_example(name, built / name, monkeypatch, tmp_path)
    if isinstance(result, Dataset):  # nobody can judge it here
        assert len(result) == rows_of(built / name)
    else:
        assert re.search(r"version:\d", result["signature"])


def run_example(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run a card's example, and return the value of its last line."""
    load = evaluate.load
    monkeypatch.setattr(evaluate, "load", lambda bare: load(str(share("metrics", bare))))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path))
    example = code((folder / "README.md").read_text())
    assert f'"datasets/{name}"' in example
    example = example.replace(f'"datasets/{name}"', f'"{folder}"').replace('"flan-t5"', '"lexical"')
    *setup, last = example.strip().splitlines()
    script = tmp_path / "example.py"
    script.write_text("\n".join([*setup, f"result = {last}"]))
    rows = rows_of(folder)
    texts = TEXTS[:rows] if registry.benchmark(name).partial_ok else ["Yes."] * rows
    given = dict.fromkeys(re.findall(r"predictions=(\w+)", last), texts)
    return runpy.run_path(str(script), init_globals=given)["result"]


def rows_of(folder: Path) -> int:
    return json.loads((folder / "stats.json").read_text())["tables"][0]["rows"]


@pytest.mark.parametrize("name", ["throne", "pope"])
def test_a_metric_cards_example_gives_what_it_says(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    example = code(share("metrics", name, "README.md").read_text())
    script, asked = re.subn(
        r"^(result\[.*\])  # ([\d.]+)$", r"said.append((\1, \2))", example, flags=re.MULTILINE
    )
    assert asked == 2 and f'evaluate.load("metrics/{name}")' in example
    (tmp_path / "example.py").write_text(script)
    monkeypatch.chdir(share("metrics").parent)
    said: list[tuple[float, float]] = []
    runpy.run_path(str(tmp_path / "example.py"), init_globals={"said": said})
    assert len(said) == 2
    for found, expected in said:
        assert found == pytest.approx(expected, abs=0.0005)
