"""Writes a dataset's folder: Parquet shards, stats.json, spec.toml and the card, all of it or nothing."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from halluscope.building import card, parquet
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.reading.rows import FOLDER

PARTS = {"README.md", "data", "spec.toml", "stats.json"}


def home(name: str) -> Path:
    """Where a dataset is built unless the user names a folder: datasets/<name> under the working directory."""
    return Path(FOLDER, name)


def target(name: str, out: Path | None = None, force: bool = False) -> Path:
    """Where a dataset goes: `out`, or `home`.

    Raises:
        BuildError: when a build is there already, unless `force` says to replace it; when something else is there.
    """
    path = (out or home(name)).resolve()
    if path.exists() and not path.is_dir():
        raise BuildError(f"--out {path} is a file; expected a folder.")
    held = {entry.name for entry in path.iterdir()} if path.exists() else set()
    if foreign := sorted(held - PARTS):
        raise BuildError(
            f"--out {path} holds {foreign[0]!r}, which no build makes; name an empty or a new folder."
        )
    if "data" in held and not force:
        raise BuildError(f"--out {path} holds a build already; pass --force to replace it.")
    return path


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside `path`, and put it in `path`'s place once it is complete.

    A build that fails or is killed leaves `path` as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        yield new
        if path.exists():
            path.rename(Path(temporary) / "old")
        new.rename(path)


def write(
    spec: Spec,
    tables: Sequence[parquet.Table],
    counts: Mapping[str, Any],
    sources: Mapping[str, Fetched],
    complete: bool,
    out: Path,
) -> Path:
    """Write a dataset.

    Args:
        spec: its facts.
        tables: its configs and splits.
        counts: what stats.json and the card say of its rows.
        sources: what it was built from, by the names that the spec gives them.
        complete: what `Spec.matches` said of the counts.
        out: what `target` returned.

    Returns:
        `out`.
    """
    published = all(source.published is not False for source in sources.values())
    with new_folder(out) as folder:
        stats = {
            "name": spec.name,
            "version": spec.version,
            "spec_sha256": sha256_of(spec.file),
            "subset": not (complete and published),
            "counts": counts,
            "sources": {
                name: {"sha256": source.sha256, "published": source.published}
                for name, source in sources.items()
            },
            "tables": [parquet.write(table, folder) for table in tables],
            "written_by": f"pyarrow {pa.__version__}",
        }
        text = json.dumps(stats, indent=2, ensure_ascii=False) + "\n"
        (folder / "stats.json").write_text(text, encoding="utf-8")
        shutil.copyfile(spec.file, folder / "spec.toml")
        card.write(spec, stats, {table.config: table.features for table in tables}, folder / "README.md")
    return out
