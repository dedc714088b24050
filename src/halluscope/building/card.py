"""Renders a dataset's card: the prose of dataset_cards/<name>.md, filled in from its spec and statistics."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasets import DatasetInfo, Features, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from halluscope.building.spec import Spec
from halluscope.share import share


def write(spec: Spec, stats: Mapping[str, Any], features: Mapping[str, Features], file: Path) -> None:
    """Render a card and write it.

    The template's own front matter holds what is always so; `configs` and `dataset_info` are added here, so that
    the Hub and `load_dataset` find the files, the columns and their types.

    Args:
        spec: the template sees it as `spec`.
        stats: the content of stats.json; the template sees it as `stats`.
        features: the columns of each config.
        file: where the card goes.

    Raises:
        FileNotFoundError: when the dataset has no template.
        jinja2.UndefinedError: when the template names what is not there.
    """
    template = share("dataset_cards", f"{spec.name}.md")
    jinja = Environment(
        loader=FileSystemLoader(template.parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML
    )
    card = DatasetCard(jinja.get_template(template.name).render(spec=spec, stats=stats))
    tables = {
        config: [table for table in stats["tables"] if table["config"] == config] for config in features
    }
    card.data["configs"] = [
        {"config_name": config, "data_files": [_files(table) for table in tables[config]]}
        for config in features
    ]
    infos = {config: _info(features[config], tables[config]) for config in features}
    DatasetInfosDict(infos).to_dataset_card_data(card.data)
    card.save(file)


def _files(table: Mapping[str, Any]) -> dict[str, str]:
    stem = table["shards"][0]["file"].rsplit("-", 3)[0]  # less -00000-of-00001.parquet
    return {"split": table["split"], "path": f"{stem}-*"}


def _info(features: Features, tables: list[Mapping[str, Any]]) -> DatasetInfo:
    splits = SplitDict()
    for table in tables:
        splits.add(SplitInfo(table["split"], num_bytes=table["bytes"], num_examples=table["rows"]))
    return DatasetInfo(
        features=features,
        splits=splits,
        download_size=sum(shard["bytes"] for table in tables for shard in table["shards"]),
        dataset_size=sum(table["bytes"] for table in tables),
    )
