"""Writes a dataset's folder completely or not at all: Parquet shards, stats.json, spec.toml, the card and a manifest.

Only what an earlier build wrote is replaced (`halluscope.building.manifest`); every other file in the folder stays.
"""

import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from halluscope.building import card, manifest, parquet
from halluscope.building.build_info import DATA, STATS
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.files.writing import new_folder, real
from halluscope.reading.datasets import home


def target(spec: Spec, out: Path | None = None, force: bool = False, name: str | None = None) -> Path:
    """Return the folder to build, if nothing in it is in the way."""
    path = real(out or home(name or spec.name))
    if path.exists() and not path.is_dir():
        raise BuildError(f"--out {path} is a file; expected a folder.")
    replaced = manifest.replaceable(path, spec.file)
    if DATA in replaced and not force:
        raise BuildError(f"--out {path} holds a build already; pass --force to replace it.")
    if replaced and Path.cwd().resolve().is_relative_to(path):
        raise BuildError(
            f"--out {path} is or holds the working directory, and would be replaced as a whole. Change to another "
            "folder first."
        )
    return path


def write(
    spec: Spec,
    tables: Sequence[parquet.Table],
    counts: Mapping[str, Any],
    sources: Mapping[str, Fetched],
    complete: bool,
    out: Path,
) -> Path:
    """Write a dataset into `out`, the result of `target`."""
    replaced = manifest.replaceable(out, spec.file)
    for source in sources.values():
        _check_not_replaced(source, out, replaced)
    published = all(source.published is not False for source in sources.values())
    with new_folder(out, lambda: manifest.replaceable(out, spec.file)) as folder:
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
        (folder / STATS).write_text(text, encoding="utf-8")
        shutil.copyfile(spec.file, folder / manifest.SPEC)
        text = card.render(spec, stats, {table.config: table.features for table in tables})
        (folder / manifest.CARD).write_text(text, encoding="utf-8")
        manifest.write(folder)
    return out


def _check_not_replaced(source: Fetched, out: Path, replaced: set[str]) -> None:
    path = source.path
    file = real(Path(str(path.root.filename)) if isinstance(path, zipfile.Path) else path)
    if replaced and (file == out or any(file.is_relative_to(out / name) for name in replaced)):
        raise BuildError(
            f"{file} is read for this build, and --out {out} would replace it; name another folder."
        )
