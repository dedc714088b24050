"""What makes a dataset's repository a benchmark on the Hub: eval.yaml, and a repository of it and a card alone."""

import tomllib
from collections.abc import Sequence

import yaml

from halluscope import registry
from halluscope.building import spec as specs
from halluscope.building.build_info import SPEC
from halluscope.errors import HubError
from halluscope.hub.publisher import CARD, EVAL, Publication, Release
from halluscope.registry import HIGHER, Benchmark

ONLY = "default"  # the name of a dataset's config if there is one
FRAMEWORK = "halluscope"  # its entry in huggingface.js: CONTRIBUTING.md, "Releasing"


def task(name: str, config: str = "") -> str:
    """Return the id of a dataset's task: its questions in a config, and the score.

    >>> task("throne_coco"), task("pope"), task("pope", "gqa")
    ('throne_coco_f0_5_cls', 'pope_accuracy', 'pope_gqa_accuracy')
    """
    other = config not in ("", ONLY, registry.dataset(name).config)
    score = registry.benchmark(name).principal.replace(".", "_").lower()
    return f"{name}{f'_{config}' if other else ''}_{score}"


def unfit(benchmark: Benchmark) -> str:
    """Say why a benchmark's principal score cannot stand in a leaderboard of the Hub; "" if it can."""
    if not benchmark.has_metric:
        return f"{benchmark.title} is for training and has no score"
    if benchmark.direction(benchmark.principal) == HIGHER:
        return ""
    return (
        f"the principal score of {benchmark.title}, {benchmark.principal}, is not better when it is higher, and the "
        "Hub's leaderboards know no other order"
    )


def eval_yaml(name: str, configs: Sequence[str] = ()) -> bytes:
    """Return the eval.yaml of a dataset with these configs of questions; () for the one that is asked by default."""
    benchmark, spec = registry.benchmark(name), specs.load(name)
    told = {
        "name": spec.title,
        "description": f"{benchmark.title}: {benchmark.about}. The score is {benchmark.principal}.",
        "evaluation_framework": FRAMEWORK,
        "tasks": [
            {"id": task(name, config), "config": config, "split": spec.split}
            for config in configs or [registry.dataset(name).config or ONLY]
        ],
    }
    return str(yaml.safe_dump(told, sort_keys=False, allow_unicode=True)).encode()


def read(name: str, organization: str) -> Publication:
    """Return a repository without data, for a dataset that its users build themselves."""
    benchmark, spec = registry.benchmark(name), specs.load(registry.dataset(name).name)
    if why := unfit(benchmark):
        raise HubError(f"{name} cannot be a benchmark on the Hub: {why}.")
    sources = "\n".join(f"- <{source.url}>" for source in spec.sources.values())
    card = f"""---
pretty_name: {spec.title}
license: {spec.license}
---
# {spec.title}
{" ".join(benchmark.description.split())}

This repository holds no data. Its leaderboard collects {benchmark.principal} of models. Build the data yourself:
```console
$ halluscope build {name}
$ halluscope score {benchmark.name} --responses mine.jsonl --dataset {name} --out run
$ halluscope publish results run --model ORG/MODEL --benchmark {organization}/{name}
```

## Licence
{spec.license_note}

## Sources
{sources or f"The dataset {spec.built_from} of halluscope."}

## Citation
```bibtex
{benchmark.citation.strip()}
```
"""
    return Publication(
        kind="dataset",
        repo_id=f"{organization}/{name}",
        message=f"{name} {spec.version}, card and eval.yaml",
        files={CARD: card.encode(), EVAL: eval_yaml(name), SPEC: spec.file},
        release=Release(spec.version, f"v{spec.version}", SPEC, lambda text: _version(name, text)),
        notes=("Without data; the card says where they come from.",),
    )


def _version(name: str, text: str) -> str | None:
    """Return the version that a spec.toml on the Hub states; None if it is not about this dataset."""
    try:
        facts = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    return facts["version"] if facts.get("name") == name and isinstance(facts.get("version"), str) else None
