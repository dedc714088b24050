"""The table of a paper: a row per model, a column per score of each benchmark.

What a preset shows of a benchmark is declared in the benchmark's class (`Benchmark.presets`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.benchmark import HIGHER, Benchmark, Column
from halluscope.errors import RunError
from halluscope.options import check_names
from halluscope.reporting.printed import Printed
from halluscope.reporting.published import JUDGES
from halluscope.reporting.tables import ARROWS, Cell, Notes, Number, Report, Table, is_defined, scored
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.runs.comparing import Rescored, compare_each_two, corrected, rescored
from halluscope.runs.folder import HOW_ASKED, check, folders
from halluscope.runs.run import NOTES, Run
from halluscope.sanitize import one_line, short_repr, typed
from halluscope.stats.bootstrap import Bootstrap
from halluscope.validation import kind, listed

# Keys of a signature that may differ between models in one column
MAY_DIFFER = ("responses", "interval", "seeds", "version", "labels", "uncompared")

# Those of them that say how a file was written, which notes name -> what they mean
OF_FILES = {"labels": "responses are labels", "uncompared": "not compared with the dataset"}

# Keys that say which rows were scored -> what it means that they differ
ROWS = {
    "data": "other images or questions",
    "part": "other parts of the dataset",
    "sampling": "other samplings",
    "questions": "other versions of the questions",
    "prompts": "other prompts",
    "form": "other forms of the questions",
}
# The meaning of each key of a signature in which runs may differ
MEANINGS = dict.fromkeys(JUDGES, "other judges or prompts for them, as far as they are named") | ROWS
CONVENTION = "scored by other conventions"  # the meaning of any other key

FEW_KINDS = 3  # of up to so many kinds of runs, the commands for a table of each are said


@dataclass(frozen=True)
class Columns:
    """The runs of a benchmark, and its columns."""

    name: str  # of the benchmark or its dataset; with the config, as in "pope:gqa", where runs are about several
    benchmark: Benchmark
    about: str  # what the runs are about, if that is not what the benchmark asks about unless told otherwise
    runs: dict[str, Run]  # by the model's name
    folders: dict[str, Path]  # likewise
    columns: Sequence[Column] = ()

    @property
    def title(self) -> str:
        if self.about:
            return f"{self.benchmark.title} ({self.about})"
        return self.benchmark.title

    def head(self, column: Column) -> str:
        """Return a column's name, with the arrow that says which direction is better."""
        name = f"{self.title} {column.head}"
        if column.head.startswith(self.benchmark.title):
            name = column.head
        return name + ARROWS[self.benchmark.better(column.score)]

    def number(self, column: Column, model: str) -> Number:
        """Return a model's score; undefined without a run."""
        if model not in self.runs:
            return Number(None)
        scores = self.runs[model].scores
        ends = scores.get("interval", {}).get(column.score, ())
        number = scored(scores.get(column.score), self.benchmark.is_points(column.score), ends)
        if column.form:
            return number._replace(form=column.form)
        return number


def table(paths: Sequence[str | Path], preset: str = "", scores: Sequence[str] = ()) -> Printed:
    """Put runs into one table.

    Args:
        paths: folders of runs, or folders of such folders; a row per model, in this order.
        preset: which scores are shown: "decoding" or "preference", as benchmarks declare them; "" for each benchmark's
            principal score.
        scores: the scores to show instead, each as "benchmark/score"; as "benchmark:config/score" where the runs are
            about several configs of its dataset, and as "dataset/score" of another dataset than its first.

    Returns:
        Model -> the scores by "benchmark/score", fractions in [0, 1] or points. A score is printed in bold if it is the
        best of its column, and better than the next one beyond chance (paired, p corrected by Holm for the column).

    Raises:
        RunError: for runs that cannot stand in one column, or two runs of one model and benchmark.
        ValueError: for an unknown preset or score.
    """
    kind("preset", preset, str, "a text, such as 'decoding'")
    scores = listed("scores", scores, "a list of scores, such as ['pope/accuracy']")
    if preset and scores:
        raise ValueError(f"preset is {preset!r}, but scores name what is shown; leave one of them out.")
    if preset:
        check_names("There is no preset", [preset], presets())
    runs = {folder: check(folder) for folder in folders(paths)}
    groups = groups_of(runs)
    parts = list(parts_of(groups, preset, scores))
    for part in parts:
        check_alike(part)

    cells: dict[str, list[Cell]] = {}  # model -> its row of the table
    values: dict[str, dict[str, Any]] = {}  # model -> its scores
    for run in runs.values():
        cells[run.name] = [run.name]
        values[run.name] = {}
    header = ["model"]
    for part in parts:
        compared = on_common_rows(part)
        for column in part.columns:
            header.append(part.head(column))
            best = best_of(part, column, compared)
            for model, row in cells.items():
                number = part.number(column, model)
                values[model][f"{part.name}/{column.score}"] = number.value
                row.append(number._replace(best=model == best))
    scores_of_models = Table("scores", header, list(cells.values()), ranked=True, intervals=header[1:])
    report: Report = [scores_of_models, Notes(list(notes(parts, groups, preset)))]
    return Printed(values, report, [{"model": model} | values[model] for model in values])


# Which runs, which columns


def groups_of(runs: Mapping[Path, Run]) -> list[Columns]:
    """Return runs by their benchmarks' datasets, and by the configs of these where several are among them."""
    configs: dict[str, set[str]] = {}
    for run in runs.values():
        configs.setdefault(dataset_of(run), set()).add(config_of(run))
    groups: dict[str, Columns] = {}
    for folder, run in runs.items():
        name = dataset_of(run)
        about = about_of(run)
        config = config_of(run)
        if len(configs[name]) > 1 and config:
            name = f"{name}:{config}"
            about = about or config
        group = groups.setdefault(name, Columns(name, run.benchmark, about, {}, {}))
        if run.name in group.runs:
            raise RunError(
                f"Two runs are of {group.title} by {short_repr(run.name)}: {group.folders[run.name]} and {folder}; "
                "expected one. Leave one out, or score it under another name: --responses NAME=FILE."
            )
        group.runs[run.name] = run
        group.folders[run.name] = folder
    return list(groups.values())


def dataset_of(run: Run) -> str:
    """Return the name of the dataset that was built; the benchmark's if it is its first one, or not known."""
    others = [dataset.name for dataset in run.benchmark.datasets[1:]]
    names = {str(build["name"]) for build in run.ready.matched.built}
    if len(names) == 1:
        name = names.pop()
        if name in others:
            return name
    return run.benchmark.name


def config_of(run: Run) -> str:
    """Return the config of the dataset that was built; "" if that is not known, or there are several."""
    configs = {build["config"] for build in run.ready.matched.built}
    if len(configs) == 1:
        return str(configs.pop())
    return ""


def about_of(run: Run) -> str:
    """Return the dataset that a run is about, or the config of its first one; "" for what is asked by default."""
    name = dataset_of(run)
    if name != run.benchmark.name:
        return name
    if not run.benchmark.datasets:
        return ""
    config = config_of(run)
    usual = run.benchmark.datasets[0].config
    if not usual or config == usual:
        return ""
    return config


def parts_of(groups: Sequence[Columns], preset: str, scores: Sequence[str]) -> Iterator[Columns]:
    """Yield the columns of each benchmark, in the order in which they are shown."""
    if scores:
        yield from named(groups, scores)
        return
    if preset:
        yield from of_preset(groups, preset)
        return
    for group in groups:
        principal = group.benchmark.principal
        yield replace(group, columns=[Column(principal, principal)])


def presets() -> dict[str, list[Benchmark]]:
    """Return the benchmarks that each preset shows, in the order of their columns."""
    benchmarks: dict[str, list[Benchmark]] = {}
    for benchmark in registry.benchmarks():
        for name in benchmark.presets:
            benchmarks.setdefault(name, []).append(benchmark)
    for name, of_preset in benchmarks.items():
        of_preset.sort(key=lambda benchmark: benchmark.presets[name].place)
    return benchmarks


def of_preset(groups: Sequence[Columns], preset: str) -> Iterator[Columns]:
    """Yield the columns that a preset shows."""
    parts = [group for group in groups if preset in group.benchmark.presets]
    if not parts:
        names = [benchmark.name for benchmark in presets()[preset]]
        raise RunError(
            f"No run is of a benchmark that the preset {preset!r} shows; expected runs of {', '.join(names)}."
        )
    parts.sort(key=lambda group: group.benchmark.presets[preset].place)
    for group in parts:
        yield replace(group, columns=group.benchmark.presets[preset].columns)


def named(groups: Sequence[Columns], scores: Sequence[str]) -> Iterator[Columns]:
    """Yield the columns that the user names."""
    by_name = {group.name: group for group in groups}
    columns: dict[str, list[Column]] = {}
    for text in scores:
        name, _, score = text.partition("/")
        if name not in by_name:
            first = groups[0].name
            raise ValueError(
                f"There is no run of {short_repr(name)}. Expected scores as BENCHMARK/SCORE, such as "
                f"{first}/{groups[0].benchmark.principal}, of {', '.join(by_name)}; got {short_repr(text)}."
            )
        known = next(iter(by_name[name].runs.values())).scores
        if not isinstance(known.get(score), int | float):
            numbers = [key for key, value in known.items() if isinstance(value, float)]
            raise ValueError(
                f"{name} has no score {short_repr(score)}; expected one of {', '.join(numbers)}."
            )
        columns.setdefault(name, []).append(Column(score, score))
    for name, of_benchmark in columns.items():
        yield replace(by_name[name], columns=of_benchmark)


# What may stand in one column


def check_alike(part: Columns) -> None:
    """Refuse models that were asked or scored in different ways."""
    kinds: dict[tuple[tuple[str, str], ...], list[str]] = {}  # how runs were scored -> their models
    for model, run in part.runs.items():
        choices = sorted(choices_of(run).items())
        kinds.setdefault(tuple(choices), []).append(model)
    if len(kinds) < 2:
        return
    lines = [f"The runs of {part.title} cannot stand in one column:"]
    advice = "Score all with the same options, or make a table of each kind"
    for key, models_by_value in differing_choices(part).items():
        texts = []
        for value, models in models_by_value.items():
            texts.append(f"{value} ({', '.join(map(one_line, models))})")
        lines.append(f"{key} is {' and '.join(texts)}: {MEANINGS.get(key, CONVENTION)}.")
        if key in ROWS:
            advice = "Score responses to the same images and questions, or make a table of each kind"
    if len(kinds) > FEW_KINDS:
        lines.append(f"{advice}, by the folders of its runs.")
        raise RunError("\n".join(lines))
    lines.append(f"{advice}:")
    for models in kinds.values():
        words = ["table"]
        for model in models:
            words.append(str(part.folders[model]))
        lines.append(f"`{typed(words)}`")
    raise RunError("\n".join(lines))


def choices_of(run: Run) -> dict[str, str]:
    """Return the keys of a run's signature that have to be the same in a column, with their values."""
    choices = run.keys
    for key in MAY_DIFFER:
        choices.pop(key, None)
    return choices


def differing_choices(part: Columns) -> dict[str, dict[str, list[str]]]:
    """Return the choices in which runs differ: key of the signature -> its values -> the models that have each."""
    keys: dict[str, None] = {}
    for run in part.runs.values():
        keys.update(dict.fromkeys(choices_of(run)))
    differing = {}
    for key in keys:
        models_by_value: dict[str, list[str]] = {}
        for model, run in part.runs.items():
            value = run.keys.get(key, "not set")
            models_by_value.setdefault(value, []).append(model)
        if len(models_by_value) > 1:
            differing[key] = models_by_value
    return differing


# Which is best


def on_common_rows(part: Columns) -> dict[str, Rescored]:
    """Return the runs with their scores without each cluster; {} for a single run."""
    if len(part.runs) < 2:
        return {}
    return rescored(part.runs, Bootstrap(1))


def best_of(part: Columns, column: Column, compared: Mapping[str, Rescored]) -> str:
    """Return the model whose score is better than the next one's beyond chance; "" if there is none."""
    direction = part.benchmark.better(column.score)
    if direction is None:
        return ""
    known = {}
    for model in compared:
        value = part.number(column, model).value
        if column.score in compared[model].left_out and is_defined(value):
            known[model] = value
    if len(known) < 2:
        return ""
    ranking = sorted(known, key=lambda model: known[model], reverse=direction == HIGHER)
    best = ranking[0]
    next_best = ranking[1]
    pairs = compare_each_two({model: compared[model] for model in ranking}, [column.score], level=0.95)
    for pair in corrected(part.benchmark, pairs, level=0.95):
        if pair.names == (best, next_best) and pair.better == best:
            return best
    return ""


# What is said below


def notes(parts: Sequence[Columns], groups: Sequence[Columns], preset: str) -> Iterator[str]:
    """Yield for each benchmark how its scores were made, and what the table lacks."""
    for part in parts:
        yield from notes_on(part)
    if preset:
        in_preset = [benchmark.name for benchmark in presets()[preset]]
        names = list(dict.fromkeys(group.benchmark.name for group in groups))
        lacking = [name for name in in_preset if name not in names]
        if lacking:
            yield f"There are no runs of {', '.join(lacking)}."
        left_out = [name for name in names if name not in in_preset]
        if left_out:
            yield f"The preset {preset} does not show the runs of {', '.join(left_out)}."
    models: list[str] = []
    for group in groups:
        models += group.runs
    if len(groups) > 1 and len(set(models)) == len(models):
        yield (
            "No model has two runs here. A model is known by the name of its responses: to put its runs into one row, "
            "score them with `--responses NAME=FILE`."
        )
    yield (
        "In LaTeX, in Markdown and on a page, a score is bold if it is the best of its column, and better than the "
        "next beyond chance (paired, Holm)."
    )


def other_ways_of_asking(part: Columns) -> Iterator[str]:
    """Yield what each model was asked, as far as its responses say, unless all say the same."""
    prompts = {}
    for model, run in part.runs.items():
        stated = [short_repr(prompt, 120) for prompt, _ in run.about.get(HOW_ASKED, ()) if prompt]
        prompts[model] = " and ".join(stated) or "not stated"
    if len(set(prompts.values())) > 1:
        texts = [f"{model} {prompt}" for model, prompt in prompts.items()]
        yield f"  prompts differ, as far as the responses state them: {', '.join(texts)}"


def notes_on(part: Columns) -> Iterator[str]:
    """Yield how a benchmark's scores were made, and which are undefined."""
    first = next(iter(part.runs.values()))
    choices = [f"{key} {value}" for key, value in choices_of(first).items()]
    yield f"{part.title}: {', '.join(choices)}"
    lengths = []
    other_prompts = []
    for model, run in part.runs.items():
        words = run.scores.get(MEAN_WORDS)
        if is_defined(words):
            lengths.append(f"{model} {words:.1f}")
        count = run.scores.get("other_prompts")
        if count:
            other_prompts.append(f"{model} {count:,}")
    for key, meaning in OF_FILES.items():
        values = [f"{model} {run.keys[key]}" for model, run in part.runs.items() if key in run.keys]
        if values:
            yield f"  {meaning}: {', '.join(values)}"
    yield from other_ways_of_asking(part)
    if lengths:
        yield f"  words per response: {', '.join(lengths)}"
    if other_prompts:
        yield f"  responses to other prompts than the dataset's, which may differ: {', '.join(other_prompts)}"
    models_by_note: dict[str, list[str]] = {}
    for model, run in part.runs.items():
        for note in run.about.get(NOTES, ()):
            models_by_note.setdefault(note, []).append(model)
    for note, models in models_by_note.items():
        yield f"  {', '.join(models)}: {note.removesuffix('.')}"
    for column in part.columns:
        undefined = []
        for model in part.runs:
            if not is_defined(part.number(column, model).value):
                undefined.append(model)
        if undefined:
            yield (
                f"  {column.head} is undefined for {', '.join(undefined)}: no response counts for it, or some that it "
                "needs are missing or unreadable"
            )
