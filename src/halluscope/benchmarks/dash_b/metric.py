"""What DASH-B's data file cannot say: its authors' two lists of images, its parsers, and its scores."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.graded.labelled import Labelled, LabelledView
from halluscope.graded.rows import Values
from halluscope.reading.datasets import Source
from halluscope.sanitize import short_repr
from halluscope.stats.ratios import Floats, ratio

LIST = "dash_benchmark_"
QUESTION = "Can you see a {} in this image. Please answer only with yes or no."
HALVES = {"neg": "no", "pos": "yes"}
"""The authors' lists, of images without the object and with it -> the right answer."""


def listed(file: Readable, answer: str, first: int) -> Iterator[dict[str, Any]]:
    content = read_json(file)
    try:
        named = [
            (source, name, image)
            for source, of in content.items()
            for name, each in of.items()
            for image in each
        ]
        if not all(isinstance(image, str) for _, _, image in named):
            raise TypeError
    except (AttributeError, TypeError) as error:
        raise BuildError(
            f"{file} is {short_repr(content, 120)}; expected an object of sources, each with objects and file names."
        ) from error
    for number, (source, name, image) in enumerate(named, first):
        about = {"source": source, "object": name, "file_name": image}
        yield {"question_id": number, **about, "question": QUESTION.format(name), "answer": answer}


class DashB(Labelled):
    """DASH-B's metric."""

    def load(self, sources: Sequence[str]) -> list[Any]:
        files = [Source.of(source).path for source in sources]
        halves = [file.stem.removeprefix(LIST) if file.suffix == ".json" else "" for file in files]
        if not {*halves} <= {*HALVES}:
            return super().load(sources)
        return self.of_lists(zip(halves, files, strict=True))

    def of_lists(self, files: Iterable[tuple[str, Readable]]) -> list[Any]:
        """Read the authors' lists, each given as its half and its file, in this order."""
        found: list[Any] = []
        for half, file in files:
            found += self.read_all(listed(file, HALVES[half], len(found)), str(file))
        return found

    def rename(self, row: Values) -> Values:
        asked = {"question": QUESTION.format(row["object_name"])} if "object_name" in row else {}
        return {"source": "answers", **asked, **super().rename(row)}

    def fetch(self, order: Any) -> tuple[dict[str, Any], list[Any]]:
        sources = {half: order.fetch(half) for half in HALVES}
        return sources, self.of_lists((half, source.path) for half, source in sources.items())

    def file_of(self, row: Any) -> str | None:
        return "/".join(("neg" if row.answer == "no" else "pos", row.source, row.object, row.file_name))

    def counts(self, rows: Sequence[Any]) -> Values:
        answers = [row.answer for row in rows]
        halves = {answer: answers.count(answer) for answer in ("yes", "no")}
        return {**super().counts(rows), **halves, "objects": len({row.object for row in rows})}

    def derived(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        # NaN if one is undefined or both are 0
        tpr, tnr = scores["tpr"], scores["tnr"]
        return {"harmonic_mean": ratio(2 * tpr * tnr, tpr + tnr)}


GRADED = DashB(__file__)
VIEW = LabelledView(GRADED)
compute = GRADED.compute
