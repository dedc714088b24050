"""Finds the pictures of a report's page: where the user says, or else in the datasets that the runs name."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halluscope.errors import NoImages
from halluscope.reporting.page.content import Picture
from halluscope.reporting.page.pictures import pictures
from halluscope.runs.run import Run
from halluscope.sanitize import one_line
from halluscope.terminal import is_quiet, tell

# What `--dataset` says for a page without pictures
NONE = "none"


@dataclass
class Images:
    """The images that are there: what opens each one, by its name."""

    openers: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def add(self, dataset: str | None, folder: str | None, names: set[str]) -> None:
        """Add those of the images of these names that a dataset, or a folder of files, has."""
        from halluscope.answering.sources import find_images

        keys, find = find_images(dataset, folder, names)
        for name in names.intersection(keys):
            self.openers[name] = _opener(find, keys[name])

    def open(self, name: str) -> Any:
        return self.openers[name]()


@dataclass(frozen=True)
class Wanted:
    """What the user says of the page's pictures."""

    dataset: str | None
    images: str | None  # a folder
    credits: Path | None  # a file that names the owners and licences


def find_pictures(where: Wanted, runs: Mapping[str, Run], names: set[str], count: int) -> dict[str, Picture]:
    """Return the pictures of runs by the images' names, and say which images were not found.

    The whole page has `count` images, which decides how large each one may be.
    """
    from halluscope.reading.coco import credits

    if where.dataset == NONE and not where.images:
        images = Images()
    elif where.dataset or where.images:
        images = _named_by_user(where, names)
    else:
        images = _named_by_runs(runs.values(), names)
        if where.credits and not images.openers:
            raise ValueError("--credits is about images; give --dataset or --images too.")
    owners = {}
    if where.credits:
        owners = credits(where.credits)
        if images.openers and not owners.keys() & images.openers.keys():
            tell(f"{one_line(where.credits)} names no licence for any of these images.")
    if not images.openers:
        return {}
    return pictures(sorted(images.openers), images.open, owners, not is_quiet(), count)


def _named_by_user(where: Wanted, names: set[str]) -> Images:
    from halluscope.reading.datasets import Source

    images = Images()
    dataset = where.dataset
    if dataset == NONE:
        dataset = None
    if dataset and Source.of(dataset).path.is_file():
        if not where.images:
            _say_none(f"{dataset} is a file without images; --images FOLDER names them.")
            return images
        dataset = None  # a file that `score --dataset` took holds no images of its own
    try:
        images.add(dataset, where.images, names)
    except NoImages as error:
        _say_none(str(error))
        return images
    _say_missing(images, names, dataset or where.images or "")
    return images


def _named_by_runs(runs: Iterable[Run], names: set[str]) -> Images:
    """Look in the datasets on which the runs were scored, as far as they are on this machine."""
    images = Images()
    if not names:
        return images
    datasets = _datasets_of(runs)
    problems = []
    for dataset in datasets:
        try:
            images.add(dataset, None, names)
        except (ValueError, OSError) as error:
            problems.append(str(error))
    if images.openers:
        _say_missing(images, names, ", ".join(datasets))
    elif problems:
        _say_none(problems[0])
    else:
        _say_none("the dataset of the run is not here, or is a file; name --dataset or --images.")
    return images


def _datasets_of(runs: Iterable[Run]) -> list[str]:
    """Return the runs' datasets that are folders here: as a run names them, or else where `build` puts them."""
    from halluscope.reading.datasets import Source

    folders: dict[str, None] = {}
    for run in runs:
        own = [dataset for dataset in run.about.get("dataset", ()) if Source.of(dataset).folder]
        for dataset in own or _where_built(run):
            folders[dataset] = None
    return list(folders)


def _where_built(run: Run) -> Iterator[str]:
    from halluscope.reading.datasets import home

    for dataset in run.ready.matched.built:
        name = dataset["name"]
        config = dataset.get("config")
        if home(name).is_dir():
            yield f"{name}:{config}" if config else name


def _opener(find: Callable[[Any], Any], key: object) -> Callable[[], Any]:
    return lambda: find(key)


def _say_missing(images: Images, names: set[str], where: str) -> None:
    missing = sorted(names - images.openers.keys())
    if not missing:
        return
    example = one_line(missing[0], 80)
    lacking = (
        f"{len(missing):,} of the {len(names):,} images, such as {example}, are not in {one_line(where)}."
    )
    if images.openers:
        tell(lacking)
    else:
        _say_none(lacking)


def _say_none(why: str) -> None:
    tell(f"Without pictures: {one_line(why, 300)}")
