"""Renders a dataset's card: the README.md that the Hub shows, and by which `load_dataset` finds the files."""

from collections.abc import Mapping
from typing import Any

from datasets import DatasetInfo, Features, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from halluscope import registry
from halluscope.building.spec import Spec
from halluscope.paths import share


def card(spec: Spec, stats: Mapping[str, Any], features: Mapping[str, Features]) -> str:
    """Render a dataset's card, from the prose of dataset_cards/<name>.md.

    Args:
        spec: the dataset's facts.
        stats: the content of the build's stats.json.
        features: the columns of each config.
    """
    template = share("dataset_cards", f"{spec.name}.md")
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML
    )
    benchmark = registry.benchmark(spec.name)
    judged = ""
    if benchmark.judges:
        judged = benchmark.judges.of_published
    citation = benchmark.citation.strip()
    text = environment.get_template(template.name).render(
        spec=spec, stats=stats, judged=judged, citation=citation
    )
    configs = []
    infos = {}
    rows = 0
    for table in stats["tables"]:
        configs.append(_config(table))
        infos[table["config"]] = _info(table, features[table["config"]])
        rows += table["rows"]
    if len(features) > 1:
        configs[0]["default"] = True
    card = DatasetCard(text)
    card.data["size_categories"] = [size(rows)]
    card.data["configs"] = configs
    DatasetInfosDict(infos).to_dataset_card_data(card.data)
    return str(card)


def _config(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return which files a config has, as the Hub takes it."""
    first_file = table["shards"][0]["file"]
    path = first_file.rsplit("-", 3)[0]  # without -00000-of-00001.parquet
    files = {"split": table["split"], "path": f"{path}-*"}
    return {"config_name": table["config"], "data_files": [files]}


def _info(table: Mapping[str, Any], features: Features) -> DatasetInfo:
    """Return a config's columns and sizes, as the Hub takes them."""
    splits = SplitDict()
    splits.add(SplitInfo(table["split"], num_bytes=table["bytes"], num_examples=table["rows"]))
    return DatasetInfo(
        features=features,
        splits=splits,
        download_size=sum(shard["bytes"] for shard in table["shards"]),
        dataset_size=table["bytes"],
    )


def size(rows: int) -> str:
    """Return the Hub's size category for a number of rows, such as 1K<n<10K."""
    if rows < 1000:
        return "n<1K"
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B"]
    power = len(str(rows)) - len("1000")
    return f"{bounds[power]}<n<{bounds[power + 1]}"
