"""Explains why scores of the same responses differ: it scores them under each protocol."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from halluscope import registry, scoring
from halluscope.cli.parameters import OUTPUT, Datasets, Named, Responses, Whole, declared, digits, for_name
from halluscope.cli.printing import Output
from halluscope.cli.responses import chosen, parameters, words_of_judge
from halluscope.explaining.explanation import Explanation
from halluscope.explaining.facts import as_json
from halluscope.explaining.protocols import load
from halluscope.explaining.report import report
from halluscope.options import Option
from halluscope.terminal import tell


def command_of(name: str) -> Named:
    """Return the command `explain` for a benchmark, or for one of its datasets."""
    benchmark = registry.benchmark(name)
    protocols = load(benchmark)
    known = ", ".join(protocol.name for protocol in protocols.each)
    usual = ", ".join(protocol.name for protocol in protocols.chosen())
    help = f"protocols to compare: {known} (default: {usual})"
    options = declared([Option("protocols", help, many=True, metavar="NAME")], OUTPUT)
    options += parameters(benchmark.without(protocols.settled))
    summary = (
        f"{benchmark.title}: why scores of the same responses differ. Several files are one LVLM's responses to "
        "several prompts."
    )
    return Named(for_name(explain, name, options), summary, words_of_judge(benchmark))


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
    known = load(benchmark)
    compared = known.chosen(protocols)
    if examples < 0:
        raise ValueError(f"--examples is {examples}; expected 0 or more.")
    choice = chosen(benchmark, name, options)
    explanation = Explanation(
        benchmark, known, compared, responses, dataset, options=choice.options, matching=choice.matching
    )
    for file in explanation.files:
        tell(scoring.remark(benchmark, explanation.ready(explanation.protocols[0], file)))
    explanation.compute()
    data = as_json(explanation, examples, number)
    output.show(data, lambda: report(explanation, data, number))
