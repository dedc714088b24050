"""Builds datasets."""

from collections.abc import Mapping
from typing import Any

from halluscope import registry
from halluscope.building.build_info import STATS
from halluscope.building.command import Builder
from halluscope.cli.parameters import Folder, Named, declared, for_name
from halluscope.cli.responses import words_of_judge
from halluscope.files.opening import read_json
from halluscope.options import Option
from halluscope.paths import path_of
from halluscope.sanitize import typed
from halluscope.terminal import say, tell


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
    try:
        folder = builder_of(name).build(out=out, force=force, subset=subset, cache=cache, **options)
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(str(stopped) or "nothing was changed.") from None
    stats = read_json(folder / STATS)
    counts = []
    for name_of_count, count in stats["counts"].items():
        if isinstance(count, int):
            counts.append(f"{count:,} {name_of_count.replace('_', ' ')}")
    remark = " (not as published)" if stats["subset"] else ""
    say(f"{folder}: {', '.join(counts)}{remark}")
    for table in stats["tables"]:
        config = f"{table['config']!r}, "
        if table["config"] == "default":
            config = ""
        say(f"load_dataset({str(folder)!r}, {config}split={table['split']!r})")
    if registry.benchmark(name).is_scored:
        dataset = name if out is None else str(out)
        tell(next_step(name, dataset, _has_images(stats)))


def _has_images(stats: Mapping[str, Any]) -> bool:
    """Whether a build stores images."""
    return any("image" in table["columns"] for table in stats["tables"])


def next_step(name: str, dataset: str, with_images: bool) -> str:
    """Return what one would type after building."""
    ask = ["answer", "--model", "MODEL", "--dataset", dataset, "--out", "answers.jsonl"]
    if not with_images:
        ask += ["--images", "FOLDER"]
    score = ["score", name, "--responses", "answers.jsonl", "--dataset", dataset, "--out", "runs/mine"]
    score += words_of_judge(registry.benchmark(name))
    return f"Next: `{typed(ask)}` asks a model; `{typed(score)}` scores its responses, or a file of yours."
