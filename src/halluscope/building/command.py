"""Defines builders, and the command line that they share."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from halluscope.arguments import Parser
from halluscope.building import output
from halluscope.building.fetch import Fetched, fetch
from halluscope.building.spec import Spec, load
from halluscope.errors import BuildError
from halluscope.terminal import quiet, say, tell_error


def _nothing(parser: argparse.ArgumentParser) -> None:
    """Add no further option."""


@dataclass(frozen=True)
class Order:
    """What a user asks to be built, and how.

    Attributes:
        spec: the dataset's facts.
        source: the upstream file, or a folder that holds it; None downloads it.
        images: the folder or the zip of the images; None downloads them, or leaves out the column `image` if they
            cannot be downloaded.
        out: the folder to build; None is datasets/NAME.
        with_images: False leaves out the column `image`.
        only_images_present: leave out images, or rows, whose files are missing.
        subset: accept files and counts that are not the published ones.
        force: replace an existing build.
        cache: the folder that keeps downloads; None is the user's cache.
    """

    spec: Spec
    source: Path | None = None
    images: Path | None = None
    out: Path | None = None
    with_images: bool = True
    only_images_present: bool = False
    subset: bool = False
    force: bool = False
    cache: Path | None = None

    def target(self, name: str | None = None) -> Path:
        """Return the folder to build, as `output.target` does.

        Raises:
            BuildError: as `output.target` does.
        """
        return output.target(self.spec, self.out, self.force, name)

    def inside(self, folder: str) -> Path | None:
        """Return where a part's files are: in the folder of this name in `source`, or in `source` itself."""
        inner = self.source / folder if self.source else None
        return inner if inner and inner.is_dir() else self.source

    def fetch(self, name: str, given: Path | None = None, option: str = "--source") -> Fetched:
        """Find a source of the spec in a path from the user (by default `source`), or download it.

        Raises:
            BuildError: if nothing is found, or the file is not the published one.
        """
        return fetch(self.spec.sources[name], option, given or self.source, self.cache, self.subset)

    def fetch_images(self) -> Fetched | None:
        """Find the images that the user names; None if the column `image` is left out.

        Raises:
            BuildError: if they are missing, or are not the published ones.
        """
        if not self.with_images or self.images is None:
            return None
        return self.fetch("images", self.images, "--images")


@dataclass(frozen=True)
class Builder:
    """A builder of a dataset.

    Attributes:
        name: the name of the dataset.
        about: what it builds and from what, with examples.
        source: the help of --source, which says which upstream files are meant.
        make: takes an `Order` and the builder's own options as keywords, checks everything before it writes anything,
            and returns the dataset's folder.
        images: the help of --images; "" for a builder that stores no images of its own.
        add: adds the builder's own options to a parser.
    """

    name: str
    about: str
    source: str
    make: Callable[..., Path]
    images: str = ""
    add: Callable[[argparse.ArgumentParser], None] = _nothing

    def build(
        self,
        source: Path | None = None,
        images: Path | None = None,
        out: Path | None = None,
        *,
        spec: Spec | None = None,
        **options: Any,
    ) -> Path:
        """Build the dataset. Everything is checked before anything is written.

        Args:
            source: as in `Order`.
            images: as in `Order`.
            out: as in `Order`.
            spec: the dataset's facts (default: datasets/NAME/spec.toml).
            options: the other fields of `Order`, and the builder's own options.

        Returns:
            The dataset's folder.

        Raises:
            BuildError: if a source is missing, damaged or not the published one, `out` is taken, or options for images
                are given to a builder without images.
        """
        if not self.images and (
            images is not None or {"with_images", "only_images_present"} & options.keys()
        ):
            raise BuildError(
                f"{self.name} is built without images of its own; leave out images, with_images and "
                "only_images_present."
            )
        shared = {field.name for field in fields(Order)} & options.keys()
        order = Order(
            spec or load(self.name), source, images, out, **{name: options.pop(name) for name in shared}
        )
        return self.make(order, **options)

    def parser(self) -> argparse.ArgumentParser:
        """Make the parser of the builder's command line."""
        parser = Parser(
            prog=f"halluscope build {self.name}",
            description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        option = parser.add_argument
        option("--source", type=Path, metavar="FOLDER-OR-FILE", help=self.source)
        if self.images:
            which = parser.add_mutually_exclusive_group()
            which.add_argument("--images", type=Path, metavar="FOLDER-OR-ZIP", help=self.images)
            which.add_argument(
                "--no-images", dest="with_images", action="store_false", help="leave out the column `image`"
            )
            option("--only-images-present", action="store_true", help="leave out missing images")
        self.add(parser)
        option(
            "--out", type=Path, metavar="FOLDER", help=f"the folder to build (default: datasets/{self.name})"
        )
        option("--force", action="store_true", help="replace an existing build")
        option(
            "--subset", action="store_true", help="accept files and counts that are not the published ones"
        )
        option(
            "--cache",
            type=Path,
            metavar="FOLDER",
            help="the folder for downloads (default: the user's cache)",
        )
        return parser

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Build with the options of a command line, and print what was built.

        Returns:
            The exit status: 0, or 2 after an error that the user can correct.
        """
        options = vars(self.parser().parse_args(argv))
        try:
            with quiet(options.pop("quiet", False)):
                out = self.build(**options)
        except (ValueError, OSError, ImportError) as error:
            tell_error(error)
            return 2
        stats = json.loads((out / "stats.json").read_text(encoding="utf-8"))
        numbers = ", ".join(
            f"{value:,} {key}" for key, value in stats["counts"].items() if isinstance(value, int)
        )
        say(f"{out}: {numbers.replace('_', ' ')}{' (a subset)' if stats['subset'] else ''}")
        for table in stats["tables"]:
            config = "" if table["config"] == "default" else f"{table['config']!r}, "
            say(f"load_dataset({str(out)!r}, {config}split={table['split']!r})")
        return 0
