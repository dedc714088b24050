"""A benchmark's report as its data file declares it, in the table `report`."""

from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reporting import tables
from halluscope.reporting.tables import Named, Report, Table, interval, is_defined, percent, ranked
from halluscope.signature import keys_of
from halluscope.vocabularies import read_toml


class _Share(float):
    """A fraction, which a text without a format shows in percent."""

    def __format__(self, form: str) -> str:
        return super().__format__(form) if form else percent(self)


def filled(text: str, result: Mapping[str, Any]) -> str:
    """Return a text with values of a result; "f0_5_cls" stands for "f0.5_cls"."""
    shown = {name: _Share(one) if isinstance(one, float) else one for name, one in result.items()}
    return text.format(**{name.replace(".", "_"): one for name, one in shown.items()})


class Declared:
    """The columns, notes and sentences of the data file beside the module of this `__file__`."""

    def __init__(self, module: str) -> None:
        table = read_toml(module, "benchmark.toml")
        self.data, self.principal = table["report"], table["benchmark"]["principal"]
        self.higher = table["benchmark"]["scores"][self.principal] == "higher"

    def table(self, results: Named, columns: Sequence[str] = ()) -> Table:
        """Return a row per result, the best first, by default with the columns of the data file."""
        best = ranked(results, self.principal, self.higher)
        return tables.table(best, columns or self.data["columns"], intervals=self.data.get("intervals", ()))

    def report(self, results: Named, **_: Any) -> Report:
        """Return a table, and notes on each result."""
        return tables.report([self.table(results)], {name: self.notes(result) for name, result in results})

    def notes(self, result: Mapping[str, Any], *more: str) -> list[str]:
        """Return the notes that apply, others, the intervals that are named below tables, and the signature."""
        known = [(note, result.get(note["of"])) for note in self.data.get("notes", ())]
        ends = result.get("interval", {})
        return [
            *(
                filled(note["text"], result)
                for note, value in known
                if value is not None and ("above" not in note or value > note["above"])
            ),
            *more,
            *(
                f"interval of {name} over images: {interval(ends[name])}"
                for name in self.data.get("below", ())
                if name in ends and is_defined(result[name])
            ),
            f"signature: {result['signature']}",
        ]

    def meaning(self, scores: Mapping[str, Any]) -> str:
        """Say in a sentence what the principal score means, by the convention of the signature."""
        if not is_defined(scores[self.principal]):
            return str(self.data["undefined"])
        texts, keys = self.data["meaning"], keys_of(scores["signature"])
        named = [keys.get("convention"), keys.get("parser"), "usual"]
        return filled(next(texts[name] for name in named if name in texts), scores)
