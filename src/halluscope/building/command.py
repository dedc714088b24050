"""Defines builders, and the command line that they share."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from datasets import Features, Image

from halluscope.arguments import Parser
from halluscope.building import images as pictures
from halluscope.building import output
from halluscope.building.build_info import STATS
from halluscope.building.fetch import Fetched, fetch
from halluscope.building.output import Table
from halluscope.building.spec import Spec, load
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.terminal import quiet, say, tell_error
from halluscope.vocabularies import read_toml


@dataclass(frozen=True)
class Order:
    """What a user asks to be built, and how."""

    spec: Spec
    source: Path | None = None  # the upstream file, or a folder that holds it; None downloads it
    images: Path | None = None  # the folder or the zip; None downloads them, or leaves out the column `image`
    out: Path | None = None  # the folder to build; None is datasets/NAME
    with_images: bool = True  # False leaves out the column `image`
    only_images_present: bool = False  # leave out images, or rows, whose files are missing
    subset: bool = False  # accept files and counts that are not the published ones
    force: bool = False  # replace an existing build
    cache: Path | None = None  # the folder that keeps downloads; None is the user's cache

    def target(self, name: str | None = None) -> Path:
        return output.target(self.spec, self.out, self.force, name)

    def inside(self, folder: str) -> Path | None:
        """Return the folder of this name in `source`, or `source` itself."""
        inner = self.source / folder if self.source else None
        return inner if inner and inner.is_dir() else self.source

    def fetch(
        self, name: str, given: Path | None = None, option: str = "--source", alone: bool = False
    ) -> Fetched:
        """Get a source from where the user says, or by a download; it is not in `source` if it stands `alone`."""
        given = given or (None if alone else self.source)
        return fetch(self.spec.sources[name], option, given, self.cache, self.subset)

    def write(
        self,
        out: Path,
        rows: Sequence[Mapping[str, Any]],
        columns: Mapping[str, Any],
        counts: Mapping[str, Any],
        sources: Mapping[str, Fetched],
        check: Callable[[list[str], Readable, bool], None] = pictures.check,
        others: Sequence[Table] = (),
        complete: bool = True,
    ) -> Path:
        """Write a dataset into `out`: rows whose `image` names a file or is None, and other tables.

        Images are among the sources, or those that the user has, if any; `check` looks at them first.
        """
        self.spec.matches(counts, self.subset)
        if self.with_images and self.images and "images" not in sources:
            sources = {**sources, "images": self.fetch("images", self.images, "--images")}
        folder = sources["images"].path if "images" in sources else None
        if folder:
            check(sorted({row["image"] for row in rows if row["image"]}), folder, self.only_images_present)
        there = {name: kind for name, kind in columns.items() if folder or not isinstance(kind, Image)}
        table = Table(Features(there), rows, self.spec.split, folder=folder)
        return self.save(out, [table, *others], counts, sources, complete)

    def save(
        self,
        out: Path,
        tables: Sequence[Table],
        counts: Mapping[str, Any],
        sources: Mapping[str, Fetched],
        complete: bool = True,
    ) -> Path:
        complete = self.spec.matches(counts, self.subset or not complete) and complete
        return output.write(self.spec, tables, counts, sources, complete, out)


@dataclass(frozen=True)
class Builder:
    """A builder of a dataset."""

    name: str  # the dataset's
    about: str  # what it builds and from what, with examples
    source: str  # the help of --source, which says which upstream files are meant
    # takes an `Order` and the builder's own options, and returns the dataset's folder
    make: Callable[..., Path]
    images: str = ""  # the help of --images; "" for a builder that stores no images of its own
    # the builder's own options as data: what `add_argument` takes, with the type "path" or "whole"
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def build(
        self,
        source: Path | None = None,
        images: Path | None = None,
        out: Path | None = None,
        *,
        spec: Spec | None = None,
        **options: Any,
    ) -> Path:
        """Build the dataset, and return its folder. Everything is checked before anything is written.

        `options` are the other fields of `Order`, and the builder's own options.
        """
        of_images = {"with_images", "only_images_present"} & options.keys()
        if not self.images and (images is not None or of_images):
            raise BuildError(
                f"{self.name} is built without images of its own; leave out images, with_images and "
                "only_images_present."
            )
        if images is not None and not options.get("with_images", True):
            raise BuildError(f"--images {images} and --no-images are given; expected one of them.")
        shared = {field.name: options.pop(field.name) for field in fields(Order) if field.name in options}
        return self.make(Order(spec or load(self.name), source, images, out, **shared), **options)

    def parser(self) -> argparse.ArgumentParser:
        parser = Parser(
            prog=f"halluscope build {self.name}",
            description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # `--images` is no short form of a builder's own `--images-count`
        )
        shared = read_toml(__file__, "options.toml")
        images = shared["images"] if self.images else {}
        for flag, one in {**shared["first"], **images, **self.options, **shared["last"]}.items():
            types = {"type": {"path": Path, "whole": int}[one["type"]]} if "type" in one else {}
            parser.add_argument(flag, **{**one, **types, "help": one["help"].format(**vars(self))})
        return parser

    def main(self, argv: Sequence[str] | None = None) -> int:
        options = vars(self.parser().parse_args(argv))
        try:
            with quiet(options.pop("quiet", False)):
                out = self.build(**options)
        except (ValueError, OSError, ImportError) as error:
            tell_error(error)
            return 2
        stats = read_json(out / STATS)
        counts = [f"{value:,} {key}" for key, value in stats["counts"].items() if isinstance(value, int)]
        say(f"{out}: {', '.join(counts).replace('_', ' ')}{' (a subset)' if stats['subset'] else ''}")
        for table in stats["tables"]:
            config = "" if table["config"] == "default" else f"{table['config']!r}, "
            say(f"load_dataset({str(out)!r}, {config}split={table['split']!r})")
        return 0


def builder(module: str, name: str, make: Callable[..., Path]) -> Builder:
    """Return a builder as `build.NAME` of the benchmark.toml beside a module, given by its `__file__`, describes it."""
    return Builder(name, make=make, **read_toml(module, "benchmark.toml")["build"][name])
