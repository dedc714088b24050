"""Makes the record of a benchmark from its data file."""

from typing import Any

from halluscope.benchmark import Benchmark, Dataset, Judges
from halluscope.judging import options
from halluscope.judging.judge import MAX_TOKENS
from halluscope.options import Option
from halluscope.registry import of_facts
from halluscope.vocabularies import read_toml


def record(module: str) -> Benchmark:
    """Return the record in the benchmark.toml beside a module, given by its `__file__`."""
    table = read_toml(module, "benchmark.toml")
    about, columns, of = table["benchmark"], table["columns"], table["dataset"]
    ids = of.get("id", ("id",))
    dataset = Dataset(
        about["name"],
        id=ids,
        columns=tuple(name for name, one in columns.items() if one.get("needed", True) and name not in ids),
        own=tuple(name for name, one in columns.items() if one.get("own")),
        upstream=tuple(one["upstream"] for one in columns.values() if "upstream" in one),
        file=of.get("image_file", "file_name"),
        builder="metric:GRADED.builder",
        **{name: of[name] for name in ("image_key", "index", "harness") if name in of},
    )
    chosen = [
        Option(name, **{key: value for key, value in one.items() if key != "doc"})
        for name, one in table.get("options", {}).items()
    ]
    judged: dict[str, Any] = {}
    if "judge" in table:
        judge, verdict = table["judge"], table["verdict"]
        chosen[:0] = options.for_verdicts(judge["about"], judge.get("max_tokens", MAX_TOKENS))
        if named := verdict.get("option"):
            chosen.append(options.for_given_verdicts(named, verdict["columns"], verdict["does"]))
        judged["judges"] = Judges("verdicts", judge["default"], judge["rules"], judge["published"])
        judged["input_options"] = tuple(verdict["given"])
    facts = {
        **about,
        "extra_numbers": {"questions": "", "images": "", **of.get("extra_numbers", {})},
        "datasets": (dataset,),
        "options": tuple(chosen),
        "items": "per_question",
        "engine": {"rows": "GRADED", "report": "VIEW"},
        **judged,
    }
    return of_facts(facts)
