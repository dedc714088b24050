"""The command line that builders share."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from halluscope.errors import BuildError


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """A parser with the options of every builder: --out, --force, --subset and --cache."""
    parser = argparse.ArgumentParser(
        prog=name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, help="the folder to build (default: datasets/NAME in a checkout, or NAME)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing build")
    parser.add_argument(
        "--subset", action="store_true", help="accept files and counts that are not the published ones"
    )
    parser.add_argument(
        "--cache", type=Path, help="the folder that keeps downloads (default: the user's cache)"
    )
    return parser


def add_images(parser: argparse.ArgumentParser, where: str) -> None:
    """Add the options of every builder that stores images: --images, --no-images and --only-images-present.

    Args:
        parser: what `parser` made.
        where: the help of --images.
    """
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--images", type=Path, help=where)
    which.add_argument(
        "--no-images", dest="with_images", action="store_false", help="leave the column `image` out"
    )
    parser.add_argument(
        "--only-images-present", action="store_true", help="leave out images that are not there"
    )


def run(build: Callable[..., Path], arguments: argparse.Namespace) -> int:
    """Call a builder's `build` with the options as its keywords; say what came of it.

    Returns:
        The exit status: 0, or 1 after an error that the user can mend.
    """
    try:
        out = build(**vars(arguments))
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
