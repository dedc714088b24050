"""A benchmark's card: what it measures, its datasets, scores, protocols and options, and how to cite it."""

import inspect

from halluscope import registry
from halluscope.benchmark import Benchmark, Dataset
from halluscope.building.spec import load
from halluscope.explaining import protocols
from halluscope.options import defaults


def card(name: str) -> str:
    """Return the card of a benchmark; of a dataset's name, with that dataset alone."""
    benchmark = registry.benchmark(name)
    lines = [
        f"{benchmark.title} ({benchmark.name}): {benchmark.about}",
        f"\n{benchmark.description.strip()}",
    ]
    if benchmark.licence:
        lines.append(f"\nlicence: {benchmark.licence}")
    for link in benchmark.links:
        lines.append(f"more: {link}")
    for dataset in benchmark.datasets:
        if name in (dataset.name, benchmark.name):
            lines += _dataset(dataset)
    for dataset_of_others in benchmark.reads:
        lines.append(f"\ndataset {dataset_of_others}: halluscope build {dataset_of_others}")
    if benchmark.other_datasets:
        lines.append(f"  --dataset also takes {benchmark.other_datasets}")
    if benchmark.is_scored:
        lines += _prompts(benchmark)
    if benchmark.compared:
        lines.append(f"\ncompared with its authors' work: {benchmark.compared}")
    if benchmark.judges and benchmark.judges.published:
        lines.append(f"\n{benchmark.judges.of_published}")
    if benchmark.has_metric:
        lines += _scores(benchmark)
    if benchmark.is_scored:
        lines += _protocols(benchmark)
    if benchmark.has_metric:
        lines += _options(benchmark)
    lines.append(f"\n{inspect.cleandoc(benchmark.citation)}")
    return "\n".join(lines)


def _dataset(dataset: Dataset) -> list[str]:
    spec = load(dataset.name)
    counts = []
    for name, count in spec.expected.items():
        counts.append(f"{count:,} {name.replace('_', ' ')}")
    key = f"rows are identified by {', '.join(dataset.key)}"
    return [
        f"\ndataset {dataset.name} {spec.version}: {', '.join(counts)}",
        f"  {key}; licence {spec.license}. {spec.license_note}",
        f"  halluscope build {dataset.name}",
    ]


def _prompts(benchmark: Benchmark) -> list[str]:
    lines = [f"\nprompt: {benchmark.prompt} (at most {benchmark.max_new_tokens} new tokens)"]
    for name, prompt in benchmark.prompts.items():
        lines.append(f"prompt {name}: {prompt}")
    return lines


def _scores(benchmark: Benchmark) -> list[str]:
    lines = ["\nscores"]
    for name, score in benchmark.scores.items():
        line = f"  {name}: neither way is better"
        if score.better:
            line = f"  {name}: {score.better} is better"
        if name == benchmark.principal:
            line += " (the principal score)"
        lines.append(line)
    return lines


def _protocols(benchmark: Benchmark) -> list[str]:
    lines = ["\nprotocols (halluscope explain compares them)"]
    for protocol in protocols.load(benchmark).each:
        line = f"  {protocol.name}: {protocol.by}"
        if protocol.discrepancy:
            line += f" (not equal: {protocol.discrepancy.why})"
        lines.append(line)
    return lines


def _options(benchmark: Benchmark) -> list[str]:
    lines = ["\noptions"]
    for option in benchmark.options:
        line = f"  {option.name}: {option.help}"
        if option.choices:
            line += f" [{', '.join(option.choices)}]"
        lines.append(line)
    names = {option.name for option in benchmark.options}
    for name, default in defaults(benchmark.compute).items():
        if name not in names:
            lines.append(f"  {name} (in Python only; default: {default!r})")
    return lines
