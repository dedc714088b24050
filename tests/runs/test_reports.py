"""`halluscope report` of runs as they were written, for every benchmark."""

import pytest
from PIL import Image

import halluscope
from halluscope import cli, registry
from tests.runs.made import made, write

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "benchmark", [one for one in registry.benchmarks() if one.is_scored], ids=lambda one: one.name
)
def test_a_page_of_a_written_run(benchmark, tmp_path, capsys):
    """This includes undefined scores, which are null in JSON."""
    folder = write(made(benchmark, tmp_path), tmp_path / "run")
    assert cli.main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0, (
        capsys.readouterr().err
    )
    assert "</html>" in (tmp_path / "page.html").read_text("utf-8")


def test_credits_of_no_image(tmp_path, capsys):
    """Credits without images, or of other images, give a message."""
    folder = write(made(registry.benchmark("throne"), tmp_path), tmp_path / "run")
    (tmp_path / "credits.json").write_text('{"images": [{"id": "a"}, 3]}', "utf-8")
    page, credits = str(tmp_path / "page.html"), ["--credits", str(tmp_path / "credits.json")]
    assert cli.main(["report", str(folder), "--out", page, *credits]) == 2
    assert "give --dataset or --images" in capsys.readouterr().err
    Image.new("RGB", (8, 8)).save(tmp_path / "000000000010.jpg")
    images = ["--images", str(tmp_path)]
    assert cli.main(["report", str(folder), "--out", page, *credits, *images]) == 0
    assert "names no licence for any of these images" in capsys.readouterr().err


def test_what_no_report_is_made_of():
    texts, objects = ["A dog and a cat."], [["dog"]]
    compute = registry.benchmark("throne").compute
    result = compute(texts, references=objects, judges="lexical", per_image=True, bootstrap=0)
    for said, given in (
        (r"images\[0\] is 'x'; expected a PIL.Image", {"images": ["x"]}),
        ("name is 7; expected a text", {"name": 7}),
        (r"predictions\[0\] is None; expected a text", {"predictions": [None]}),
    ):
        with pytest.raises(ValueError, match=said):
            halluscope.report(result, **{"predictions": texts, "references": objects, **given})


def test_what_was_not_counted_is_not_undefined(tmp_path, capsys):
    """A judge that answers every question ignores no cell, so null is not a valid score."""
    folder = write(made(registry.benchmark("throne"), tmp_path), tmp_path / "run")
    assert cli.main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    assert "cells ignored because the judges disagree" not in (tmp_path / "page.html").read_text("utf-8")
