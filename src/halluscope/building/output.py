"""Writes a dataset's folder completely or not at all: Parquet shards, stats.json, spec.toml, the card and a mark.

Only what an earlier build wrote is replaced (`halluscope.building.mark`); every other file in the folder stays.
"""

import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from halluscope.building import built, card, mark, parquet
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.files.writing import new_folder, real
from halluscope.reading.rows import FOLDER


def home(name: str) -> Path:
    """Return the default folder of a dataset: datasets/<name> in the working directory."""
    return Path(FOLDER, name)


def target(spec: Spec, out: Path | None = None, force: bool = False, name: str | None = None) -> Path:
    """Return the folder to build: `out`, or `home` of the dataset's name.

    Raises:
        BuildError: if the folder holds a build, unless `force` says to replace it; if a file is in the way that no
            build wrote, or that was changed since.
    """
    path = real(out or home(name or spec.name))
    if path.exists() and not path.is_dir():
        raise BuildError(f"--out {path} is a file; expected a folder.")
    replaced = mark.replaceable(path, spec.file.read_bytes())
    if mark.DATA in replaced and not force:
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
    """Write a dataset.

    Args:
        spec: the dataset's facts.
        tables: its configs and splits.
        counts: its counts, for stats.json and the card.
        sources: the sources that it is built from, by their names in the spec.
        complete: the result of `Spec.matches` for the counts.
        out: the result of `target`.

    Returns:
        `out`.

    Raises:
        BuildError: if a source would be replaced, or a row cannot be written.
        OutputError: if another process builds in the same folder.
    """
    facts = spec.file.read_bytes()
    _check_inputs((source.path for source in sources.values()), out, mark.replaceable(out, facts))
    published = all(source.published is not False for source in sources.values())
    with new_folder(out, lambda: mark.replaceable(out, facts)) as folder:
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
        (folder / built.STATS).write_text(text, encoding="utf-8")
        shutil.copyfile(spec.file, folder / mark.SPEC)
        card.write(spec, stats, {table.config: table.features for table in tables}, folder / mark.CARD)
        mark.write(folder)
    return out


def _check_inputs(inputs: Iterable[Readable], out: Path, replaced: Iterable[str]) -> None:
    """Check that no source would be replaced.

    Raises:
        BuildError: if one would be.
    """
    gone = [out / name for name in replaced]
    for given in inputs:
        file = real(Path(str(given.root.filename)) if isinstance(given, zipfile.Path) else given)
        if gone and (file == out or any(file.is_relative_to(path) for path in gone)):
            raise BuildError(
                f"{file} is read for this build, and --out {out} would replace it; name another folder."
            )
