"""Builds datasets."""

from typing import Any

from halluscope import registry
from halluscope.building.build_info import STATS
from halluscope.building.command import Builder
from halluscope.cli.parameters import Folder, Named, declared, for_name
from halluscope.files.opening import read_json
from halluscope.options import Option
from halluscope.paths import path_of
from halluscope.terminal import say


def command_of(name: str) -> Named:
    """Return the command that builds a dataset."""
    builder = builder_of(name)
    options = [Option("source", builder.source, type=path_of, metavar="FOLDER-OR-FILE")]
    if builder.images:
        options += [
            Option("images", builder.images, type=path_of, metavar="FOLDER-OR-ZIP"),
            Option("no_images", "leave out the column `image`", flag=True),
            Option("only_images_present", "leave out missing images", flag=True),
        ]
    options += builder.options
    return Named(for_name(build, name, declared(options)), builder.about)


def builder_of(name: str) -> Builder:
    dataset = registry.dataset(name)
    builder: Builder = registry.benchmark(name).builder(dataset)
    return builder


def build(
    name: str,
    *,
    out: Folder | None = None,
    force: bool = False,
    subset: bool = False,
    cache: Folder | None = None,
    **options: Any,
) -> None:
    """Build a dataset.

    Args:
        out: the folder to build (default: datasets/NAME)
        force: replace an existing build
        subset: accept files and counts that are not the published ones
        cache: the folder for downloads (default: the user's cache)
    """
    if options.pop("no_images", False):
        options["with_images"] = False
    try:
        folder = builder_of(name).build(out=out, force=force, subset=subset, cache=cache, **options)
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(str(stopped) or "nothing was changed.") from None
    stats = read_json(folder / STATS)
    counts = []
    for name_of_count, count in stats["counts"].items():
        if isinstance(count, int):
            counts.append(f"{count:,} {name_of_count.replace('_', ' ')}")
    remark = " (a subset)" if stats["subset"] else ""
    say(f"{folder}: {', '.join(counts)}{remark}")
    for table in stats["tables"]:
        config = f"{table['config']!r}, "
        if table["config"] == "default":
            config = ""
        say(f"load_dataset({str(folder)!r}, {config}split={table['split']!r})")
