"""What the tests of harnesses run on: a small copy of each dataset, and the images of those that were built without."""

from pathlib import Path

from PIL import Image

from tests import small_datasets

TASKS = ("throne_coco", "pope", "pope_c", "hallusionbench", "hqh")
PICTURES = ("COCO_val2014_000000000010.jpg", "10.jpg", "VS/chart/0_1.png", "VS/chart/0_2.png")


def build_all(folder: Path) -> Path:
    """Build the datasets as folder/<name>; folder/pictures holds the images that they lack."""
    small_datasets.build("throne_coco", folder, with_images=True)
    small_datasets.builder("pope_c").build(folder / "throne_coco", folder / "pope_c", subset=True)
    for name in ("pope", "hallusionbench", "hqh"):
        small_datasets.build(name, folder)
    for number, name in enumerate(PICTURES):
        file = folder / "pictures" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        gradient = Image.linear_gradient("L").resize((40, 30)).rotate(100 * number)
        (
            gradient if name == "10.jpg" else Image.merge("RGB", [gradient, gradient, gradient.rotate(90)])
        ).save(file)
    return folder


def pictures(folder: Path, name: str) -> str | None:
    """The folder of images that a dataset needs, if it needs one."""
    return None if name in ("throne_coco", "pope_c") else str(folder / "pictures")


SCORED = {
    "throne_coco": ("throne", "--dataset", "--judges", "lexical"),
    "pope": ("pope", "--questions"),
    "pope_c": ("pope", "--questions"),
    "hallusionbench": ("hallusionbench", "--dataset"),
    "hqh": ("hqh", "--data"),
}
CONFIG = {"pope": ":coco", "pope_c": ":questions"}


def score_command(folder: Path, name: str, *files: str) -> list[str]:
    """The arguments of `halluscope` that score files of answers or samples of a benchmark."""
    metric, option, *more = SCORED[name]
    return ["score", metric, *files, option, f"{folder / name}{CONFIG.get(name, '')}", *more]


def settings(folder: Path) -> dict[str, dict[str, str]]:
    """What the tasks have to be told."""
    images = {name: {"images": place} for name in TASKS if (place := pictures(folder, name))}
    return {"throne_coco": {"judges": "lexical"}, **images}
