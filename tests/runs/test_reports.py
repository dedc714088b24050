"""`halluscope report` of runs as they were written, for every benchmark."""

import pytest

from halluscope import cli, registry
from tests.runs.made import made, write

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "benchmark", [one for one in registry.benchmarks() if one.is_scored], ids=lambda one: one.name
)
def test_a_page_of_a_written_run(benchmark, tmp_path, capsys):
    """Undefined scores, which JSON has as null, among them."""
    folder = write(made(benchmark, tmp_path), tmp_path / "run")
    assert cli.main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0, (
        capsys.readouterr().err
    )
    assert "</html>" in (tmp_path / "page.html").read_text("utf-8")
