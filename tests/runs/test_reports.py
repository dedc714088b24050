"""`halluscope report` of runs as they were written, for every benchmark."""

import pytest
from PIL import Image

import halluscope
from halluscope import registry
from tests.runs.made import made, write

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "benchmark", [one for one in registry.benchmarks() if one.is_scored], ids=lambda one: one.name
)
def test_a_page_of_a_written_run(benchmark, tmp_path, ran):
    """This includes undefined scores, which are null in JSON; what was not counted is not undefined."""
    folder = write(made(benchmark, tmp_path), tmp_path / "run")
    ran("report", folder, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "</html>" in page
    assert "cells ignored because the judges disagree" not in page, "the judge answers every question"


def test_credits_of_no_image(tmp_path, ran, refused):
    """Credits without images, or of other images, give a message."""
    folder = write(made(registry.benchmark("throne"), tmp_path), tmp_path / "run")
    (tmp_path / "credits.json").write_text('{"images": [{"id": "a"}, 3]}', "utf-8")
    words = ["report", folder, "--out", tmp_path / "page.html", "--credits", tmp_path / "credits.json"]
    assert "give --dataset or --images" in refused(*words)
    Image.new("RGB", (8, 8)).save(tmp_path / "000000000010.jpg")
    assert "names no licence for any of these images" in ran(*words, "--images", tmp_path).err


def test_what_no_report_is_made_of():
    given = {"predictions": ["A dog and a cat."], "references": [["dog"]]}
    result = registry.benchmark("throne").compute(**given, judges="lexical", per_image=True, bootstrap=0)
    for said, other in (
        (r"images\[0\] is 'x'; expected a PIL.Image", {"images": ["x"]}),
        ("name is 7; expected a text", {"name": 7}),
        (r"predictions\[0\] is None; expected a text", {"predictions": [None]}),
    ):
        with pytest.raises(ValueError, match=said):
            halluscope.report(result, **given | other)
