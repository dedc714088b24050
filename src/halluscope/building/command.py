"""The builders, and the command line that they share."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halluscope.errors import BuildError


def _nothing(parser: argparse.ArgumentParser) -> None:
    """No further option."""


@dataclass(frozen=True)
class Builder:
    """What builds a dataset.

    Attributes:
        name: of the dataset.
        about: what it builds and from what, with examples.
        source: the help of --source: which upstream files are meant.
        build: takes `source`, `out`, `subset`, `force`, `cache`, and what else its options name; gives the folder.
        images: the help of --images; "" for a builder that stores no images of its own.
        add: adds further options.
    """

    name: str
    about: str
    source: str
    build: Callable[..., Path]
    images: str = ""
    add: Callable[[argparse.ArgumentParser], None] = _nothing

    def parser(self) -> argparse.ArgumentParser:
        """Its command line."""
        parser = argparse.ArgumentParser(
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
                "--no-images", dest="with_images", action="store_false", help="leave the column `image` out"
            )
            option("--only-images-present", action="store_true", help="leave out images that are not there")
        self.add(parser)
        option(
            "--out", type=Path, metavar="FOLDER", help=f"the folder to build (default: datasets/{self.name})"
        )
        option("--force", action="store_true", help="replace an existing build")
        option(
            "--subset", action="store_true", help="accept files and counts that are not the published ones"
        )
        option("--cache", type=Path, metavar="FOLDER", help="keeps downloads (default: the user's cache)")
        return parser

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Build with the options of a command line; say what was built.

        Returns:
            The exit status: 0, or 1 after an error that the user can mend.
        """
        try:
            out = self.build(**vars(self.parser().parse_args(argv)))
        except (BuildError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        stats = json.loads((out / "stats.json").read_text(encoding="utf-8"))
        numbers = ", ".join(
            f"{value:,} {key}" for key, value in stats["counts"].items() if isinstance(value, int)
        )
        print(f"{out}: {numbers.replace('_', ' ')}{' (a subset)' if stats['subset'] else ''}")
        for table in stats["tables"]:
            config = "" if table["config"] == "default" else f"{table['config']!r}, "
            print(f"load_dataset({str(out)!r}, {config}split={table['split']!r})")
        return 0
