"""Explains why scores of the same responses differ: it scores them under each protocol."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from halluscope import registry, scoring
from halluscope.cli.parameters import OUTPUT, Datasets, Named, Responses, Whole, declared, digits, for_name
from halluscope.cli.printing import Output
from halluscope.cli.responses import chosen, parameters
from halluscope.explaining.explanation import Explanation
from halluscope.explaining.facts import as_json
from halluscope.explaining.protocols import load
from halluscope.explaining.report import report
from halluscope.options import Option
from halluscope.terminal import tell


def command_of(name: str) -> Named:
    """Return the command `explain` for a benchmark, or for one of its datasets."""
    benchmark = registry.benchmark(name)
    stated = load(benchmark)
    known = ", ".join(protocol.name for protocol in stated.each)
    usual = ", ".join(protocol.name for protocol in stated.chosen())
    shown = [
        Option("protocols", f"protocols to compare: {known} (default: {usual})", many=True, metavar="NAME"),
    ]
    own = parameters(benchmark.without(stated.settled))
    about = (
        f"{benchmark.title}: why scores of the same responses differ. Several files are one LVLM's responses to "
        "several prompts."
    )
    return Named(for_name(explain, name, [*declared(shown, OUTPUT), *own]), about)


def explain(
    name: str,
    *,
    responses: Responses,
    dataset: Datasets,
    protocols: Sequence[str] = (),
    number: Annotated[str | None, Parameter(converter=digits, metavar="N", group=OUTPUT)] = None,
    examples: Annotated[Whole, Parameter(group=OUTPUT)] = 3,
    output: Output = Output(),
    **options: Any,
) -> None:
    """Score the same responses under each protocol, and say why the scores differ.

    Args:
        number: say which score of which protocol is printed as N, such as 85.9
        examples: how many responses to show that two parsers read differently (default: 3)
    """
    benchmark = registry.benchmark(name)
    stated = load(benchmark)
    compared = stated.chosen(protocols)
    if examples < 0:
        raise ValueError(f"--examples is {examples}; expected 0 or more.")
    choice = chosen(benchmark, name, options)
    found = Explanation(benchmark, stated, compared, responses, dataset, choice.options, choice.matching)
    for file in found.files:
        tell(scoring.remark(benchmark, found.ready(found.protocols[0], file)))
    found.compute()
    data = as_json(found, examples, number)
    output.show(data, lambda: report(found, data, number))
