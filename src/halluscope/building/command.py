"""Defines builders, and the command line that they share."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from halluscope.arguments import Parser
from halluscope.building.build_info import STATS
from halluscope.building.output import Order
from halluscope.building.spec import Spec, load
from halluscope.errors import BuildError, HalluscopeError
from halluscope.files.opening import read_json
from halluscope.paths import path_of
from halluscope.terminal import quiet, say, tell_error
from halluscope.vocabularies import read_toml


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
        if images is not None and not options.get("with_images", True):
            raise BuildError(f"--images {images} and --no-images are given; expected one of them.")
        shared = {field.name: options.pop(field.name) for field in fields(Order) if field.name in options}
        try:
            return self.make(Order(spec or load(self.name), source, images, out, **shared), **options)
        except HalluscopeError:
            raise
        except ValueError as error:  # of a bad row
            raise BuildError(str(error)) from error

    def parser(self) -> argparse.ArgumentParser:
        parser = Parser(
            prog=f"halluscope build {self.name}",
            description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # `--images` is no short form of a builder's own `--images-count`
        )
        shared = read_toml(__file__, "options.toml")
        images = shared["images"] if self.images else {}
        for flag, option in {**shared["first"], **images, **self.options, **shared["last"]}.items():
            types = {"type": {"path": path_of, "whole": int}[option["type"]]} if "type" in option else {}
            parser.add_argument(flag, **{**option, **types, "help": option["help"].format(**vars(self))})
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
