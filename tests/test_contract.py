"""The contract of every benchmark in the registry; a new one is tested automatically."""

import inspect
import math
import pkgutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import evaluate
import pytest

import halluscope
from halluscope import benchmarks, cli, registry
from halluscope.benchmark import HIGHER, LOWER, QUESTION, Benchmark
from halluscope.building import spec
from halluscope.errors import HubError, RegistryError, WithoutEffect
from halluscope.hub import contents, space
from halluscope.options import keywords
from halluscope.paths import share
from halluscope.runs import folder as folders
from halluscope.runs.page import shown
from halluscope.scoring import FUNCTIONS
from halluscope.signature import keys_of

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")
ALL = registry.benchmarks()
SHARED = {"bootstrap", "seed", "level", "progress", "device", "store", "thoughts"}
"""Options that are not a benchmark's own."""


def each(fitting=lambda one: True):
    return pytest.mark.parametrize(
        "benchmark", [pytest.param(one, id=one.name) for one in ALL if fitting(one)]
    )


each_room = pytest.mark.parametrize("room", [pytest.param(one, id=one.name) for one in registry.records()])


def example(benchmark: Benchmark) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Return the example on the metric's page: predictions, references and options."""
    page = space.page(benchmark.name)
    return list(page.predictions), list(page.references), page.options


def scored(benchmark: Benchmark, **options: Any) -> dict[str, Any]:
    predictions, references, shown = example(benchmark)
    return benchmark.compute(predictions, references, **shown | offline(benchmark) | options)


def offline(benchmark: Benchmark) -> dict[str, Any]:
    """Options that spare a metric its download: its vocabulary's names as the list of words."""
    return {"synonyms": "names"} if "synonyms" in benchmark.keywords else {}


def numbers(result: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, value in result.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


# What the metric gives


@each()
def test_the_signature_is_one_line_with_the_version_last(benchmark):
    signature = scored(benchmark)["signature"]
    assert signature.isprintable() and signature.startswith(f"{benchmark.name}|")
    assert signature.endswith(f"|version:{halluscope.__version__}")


@each()
def test_each_number_says_which_way_it_is_better(benchmark):
    result = scored(benchmark)
    assert result[benchmark.principal] is not None
    assert {benchmark.direction(name) for name in numbers(result)} <= {HIGHER, LOWER, None}


# Shares of what was asked, which is not the same by every `ask` or in each repeat
UNCOUNTED = {("throne", "unparsed"), ("hallusionbench", "unread")}


@each(lambda one: one.is_scored)
def test_each_score_has_an_interval_or_a_reason_why_not(benchmark):
    """`unreadable` and `unjudged` of judged responses had neither."""
    result = scored(benchmark, bootstrap=1)
    said = result["interval"].keys() | result.get("no_interval", {}).keys()
    for name in benchmark.scores:
        if result.get(name) is not None and (benchmark.name, name) not in UNCOUNTED:
            assert name in said


@each(lambda one: bool(one.means))
def test_a_score_that_is_a_mean_is_that_of_the_rows(benchmark):
    """Each row has its value under the score's name, or None."""
    result = scored(benchmark, **{benchmark.items: True})
    rows = result[benchmark.items]
    for name in benchmark.means:
        values = [row[name] for row in rows if row[name] is not None]
        if not math.isnan(result[name]):
            assert result[name] == pytest.approx(sum(values) / len(values))


@each(lambda one: one.is_scored)
def test_people_can_look_at_its_rows(benchmark, tmp_path):
    """The view gives an item per row, with marks within its text, and says what the score means."""
    from tests.runs.made import made

    run = made(benchmark, tmp_path)
    items = shown(run).items
    assert len({item.id for item in items}) == len(items) == len(run.found)
    for item in items:
        places = [(mark.start, mark.end) for mark in item.marks]
        assert places == sorted(places) and all(0 <= at < end <= len(item.text) for at, end in places)
        assert "<think>" not in item.text and item.badness >= 0
    folders.write([run], tmp_path / "run")
    assert shown(folders.read(tmp_path / "run")).items == items
    nothing = dict.fromkeys(run.scores, math.nan) | {"signature": run.scores["signature"]}
    meaning = benchmark.module("report").meaning
    for sentence in (meaning(run.scores), meaning(nothing)):
        assert (sentence[0].isupper() or sentence[0].isdigit()) and sentence.endswith(".")
        assert "nan" not in sentence
    assert "undefined" in meaning(nothing)


@each()
def test_evaluate_gives_the_same(benchmark):
    """At once, with rows that are added one by one, and with some that are added before the others are given."""
    metric = evaluate.load(str(share("metrics", benchmark.name)))
    predictions, references, options = example(benchmark)
    options |= offline(benchmark)
    got = metric.compute(predictions=predictions, references=references, **options)
    expected = benchmark.compute(predictions, references, **options)
    assert repr(got) == repr(expected)
    for prediction, reference in zip(predictions, references, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert repr(metric.compute(**options)) == repr(expected)
    metric.add_batch(predictions=predictions[:1], references=references[:1])
    rest = {"predictions": predictions[1:], "references": references[1:]}
    assert repr(metric.compute(**rest, **options)) == repr(expected)
    assert metric.info.citation == benchmark.citation
    assert metric.inputs_description == benchmark.help


def test_what_was_added_is_kept_until_a_score_is_made_of_it():
    metric = evaluate.load(str(share("metrics", "pope")))
    metric.add(prediction="Yes.", reference="yes")
    for given in ({"predictions": ["No."]}, {"references": ["no"]}):
        with pytest.raises(ValueError, match=r"Rows were added before \(1\), and .* is None"):
            metric.compute(**given)
    with pytest.raises(ValueError, match="There are 1 predictions and 2 references"):
        metric.compute(predictions=["No."], references=["no", "no"])
    with pytest.raises(ValueError, match="expected 'yes' or 'no'"):
        metric.compute(predictions=["No."], references=["perhaps"])
    assert metric.compute(predictions=["No.", "Yes."], references=["no", "no"])["accuracy"] == pytest.approx(
        2 / 3
    )
    assert metric.compute(predictions=["Yes."], references=["no"])["accuracy"] == 0


def test_an_error_says_that_rows_were_added_before():
    """Whoever gives all rows again would score them twice."""
    metric = evaluate.load(str(share("metrics", "pope")))
    with pytest.raises(ValueError, match="no option 'parsr'") as alone:
        metric.compute(predictions=["Yes."], references=["yes"], parsr="strict")
    assert not hasattr(alone.value, "__notes__")
    metric.add(prediction="Yes.", reference="yes")
    with pytest.raises(ValueError, match="no option 'parsr'") as raised:
        metric.compute(parsr="strict")
    assert "Rows that were added before (1) are kept" in raised.value.__notes__[0]


@each()
def test_the_docstring_names_each_option_and_score(benchmark):
    text = benchmark.help
    for heading in ("Args:", "Returns:", "Raises:"):
        assert heading in text
    assert [name for name in sorted(benchmark.keywords) if f" {name}: " not in text] == []
    assert [name for name in benchmark.scores if name.partition("/")[0] not in text] == []


@each()
def test_other_data_have_another_signature(benchmark):
    """The order of the rows does not change the signature; leaving out a row does."""
    predictions, references, options = example(benchmark)
    options |= offline(benchmark)
    given = (predictions, references), (predictions[::-1], references[::-1])
    whole, turned = (benchmark.compute(*rows, **options)["signature"] for rows in given)
    assert keys_of(whole) == keys_of(turned)
    if benchmark.name not in ("hallusionbench", "mme"):  # a part of a pair is no pair
        part = benchmark.compute(predictions[:-1], references[:-1], **options)["signature"]
        assert keys_of(part)["data"] != keys_of(whole)["data"]


VALUES = {
    "beta": (0.5, 2.0),
    "thoughts": ("removed", "kept"),
    "per_class": (False, True),
    "explain": (False, True),
    "level": (0.9, 0.95),
}
"""Two values of options that have no choices."""


@each()
def test_equal_signatures_mean_equal_scores(benchmark):
    """Two values of each option, on texts with a thought: an option that moves a score also changes the signature."""
    predictions, references, options = example(benchmark)
    if isinstance(predictions[0], str):
        predictions = [f"<think>Yes. There is a cat.</think>{text}" for text in predictions]
    options = {"bootstrap": 20} | options | offline(benchmark)
    values = {one.name: one.choices for one in benchmark.options if len(one.choices) > 1} | VALUES
    for name in sorted(benchmark.keywords & values.keys() - {*benchmark.input_options, "vocabulary"}):
        if benchmark.name == "pope" and name == "per_class":
            continue  # it needs the classes that are asked about
        found: dict[str, str] = {}
        for value in values[name]:
            try:
                result = benchmark.compute(predictions, references, **options | {name: value})
            except WithoutEffect as error:
                assert error.name == name
                continue
            moved = repr(
                {key: result[key] for key in benchmark.scores if key in result}
                | {"i": result.get("interval")}
            )
            assert found.setdefault(result["signature"], moved) == moved, f"{name}={value!r}"
            assert "data" in keys_of(result["signature"])


# What it refuses


@each()
def test_unequal_lengths(benchmark):
    predictions, references, options = example(benchmark)
    with pytest.raises(ValueError, match=r"(?s)\d+ .*\d+ "):
        benchmark.compute(predictions[:-1], references, **options | offline(benchmark))


@each()
def test_empty_input(benchmark):
    with pytest.raises(ValueError, match=r"empty|There are 0"):
        benchmark.compute([], [], **offline(benchmark))


@each()
def test_not_a_number(benchmark):
    predictions, references, options = example(benchmark)
    with pytest.raises(ValueError, match=r"\bnan\b|undefined"):
        benchmark.compute([math.nan, *predictions[1:]], references, **options | offline(benchmark))


@each()
def test_a_misspelt_option_gets_its_neighbour(benchmark):
    metric = evaluate.load(str(share("metrics", benchmark.name)))
    predictions, references, _ = example(benchmark)
    with pytest.raises(ValueError, match=r"no option 'bootstrapp'.* Did you mean 'bootstrap'\?"):
        metric.compute(predictions=predictions, references=references, bootstrapp=3)


@each()
def test_nothing_is_passed_over(benchmark):
    """Each option of `compute` is one that a user may set, or is given by the rows."""
    own = {option.name for option in benchmark.options} | {*benchmark.input_options, benchmark.items}
    assert benchmark.keywords - SHARED - own - {"indicator", "per_class"} == set()


@each(lambda one: bool(one.datasets or one.reads))
def test_each_option_of_the_command_line_goes_somewhere(benchmark):
    rows = benchmark.module("rows")
    known = benchmark.keywords.union(
        *(keywords(getattr(rows, name)) for name in FUNCTIONS if hasattr(rows, name))
    )
    assert {option.name for option in benchmark.options} - known == set()


# What stands beside it


@each()
def test_what_info_prints(benchmark, capsys):
    assert cli.main(["list", benchmark.name]) == 0
    printed = capsys.readouterr().out
    assert (
        f"{benchmark.principal}: {benchmark.scores[benchmark.principal].better} is better (the principal score)"
        in printed
    )
    assert inspect.cleandoc(benchmark.citation) in printed
    assert all(option.help in printed for option in benchmark.options)


# A room with only datasets, which are for training


of_datasets_alone = pytest.mark.parametrize(
    "room", [pytest.param(room, id=room.name) for room in registry.records() if not room.has_metric]
)


@of_datasets_alone
def test_a_room_without_a_metric_is_no_benchmark(room, capsys):
    assert room.datasets and not room.is_scored
    assert room.name not in halluscope.list_benchmarks()
    assert halluscope.get_benchmark(room.name) is room
    for dataset in room.datasets:
        assert halluscope.get_benchmark(dataset.name) is room and dataset in registry.datasets()
    assert cli.main(["list", room.name]) == 0
    printed = capsys.readouterr().out
    assert inspect.cleandoc(room.citation) in printed
    assert all(f"halluscope build {dataset.name}" in printed for dataset in room.datasets)
    assert "scores" not in printed.splitlines() and "options" not in printed.splitlines()
    assert cli.main(["list"]) == 0
    assert room.about in capsys.readouterr().out


@of_datasets_alone
def test_nothing_is_scored_in_a_room_without_a_metric(room, tmp_path):
    with pytest.raises(ValueError, match=f"{room.name} is not scored on a dataset"):
        halluscope.score(room.name, [{"id": 1, "response": "A dog."}], tmp_path)
    with pytest.raises(RegistryError, match=f"{room.name} has no metric"):
        room.compute([], [])
    with pytest.raises(HubError, match=f"no metric {room.name!r}"):
        contents.metric(room.name, "acme")
    for dataset in room.datasets:
        columns = [*dataset.key, *dataset.columns, "image_id", "file_name"]
        with pytest.raises(ValueError, match=f"is {dataset.name}, which is for training"):
            registry.with_columns(columns)


# The record is complete


@each_room
def test_the_record_is_complete(room):
    assert all(getattr(room, name).strip() for name in ("title", "about", "description", "citation"))
    assert room.citation.strip().startswith("@") and spec.licence_of(room).endswith(".")
    for dataset in room.datasets:
        facts = spec.load(dataset.name)
        assert facts.expected and facts.license
        assert share("dataset_cards", f"{dataset.name}.md").is_file()
        assert share("builders", f"{dataset.name}.py").is_file()
        assert room.builder(dataset).name == dataset.name
    directions = {score.better for score in (*room.scores.values(), *room.extra_numbers.values())}
    assert directions <= {HIGHER, LOWER, ""}
    assert all((QUESTION in prompt) == (QUESTION in room.prompt) for prompt in room.prompts.values())
    if hasattr(room, "rows_published"):
        (dataset,) = room.datasets
        counts = spec.load(dataset.name).expected
        assert room.rows_published == counts.get("questions", counts.get("images")), (
            f"{room.name}.rows_published is not what datasets/{dataset.name}/spec.toml expects."
        )
    if room.has_metric:
        assert room.principal in room.scores, f"{room.name}.principal is {room.principal!r}; expected a score"
        assert room.scores[room.principal].better in (HIGHER, LOWER)
        card = share("metrics", room.name, "README.md").read_text(encoding="utf-8")
        assert f"# {room.title}" in card
        assert room.items or not (room.is_scored or room.means)
    else:
        assert room.datasets and not room.principal


def test_each_name_stands_for_one_thing():
    own = [name for room in registry.records() for name in {room.name, *(one.name for one in room.datasets)}]
    assert len(own) == len({*own})


# The face


def test_the_face():
    names = "__version__ build compare get_benchmark list_benchmarks load_judge report score table verify"
    assert sorted(halluscope.__all__) == names.split()
    assert halluscope.list_benchmarks() == [one.name for one in ALL]
    assert halluscope.get_benchmark("throne_coco") is halluscope.get_benchmark("throne")
    with pytest.raises(ValueError, match=r"no benchmark 'thrones'. Did you mean 'throne'\?"):
        halluscope.get_benchmark("thrones")


def test_judges_by_name(tiny_t5):
    assert halluscope.load_judge("lexical").key.startswith("lexical")
    assert halluscope.load_judge(str(tiny_t5)).key.startswith("checkpoint@")
    assert "SmolLM2" in halluscope.load_judge("openai:SmolLM2@http://127.0.0.1:1/v1").key
    with pytest.raises(ValueError, match="'flan-t5' stands for 3 judges"):
        halluscope.load_judge("flan-t5")
    with pytest.raises(ValueError, match="the judge's name is None; expected a text"):
        halluscope.load_judge(None)


def test_the_list_of_benchmarks_says_what_their_classes_say():
    """`--help` and `list` read the list alone."""
    packages = [package.name for package in pkgutil.iter_modules(benchmarks.__path__)]
    assert [listed.name for listed in benchmarks.LISTED] == packages, (
        "LISTED in benchmarks/__init__.py lacks one"
    )
    for listed in benchmarks.LISTED:
        benchmark = registry.benchmark(listed.name)
        assert benchmark.name == listed.name and benchmark.is_scored == listed.is_scored
        assert tuple(dataset.name for dataset in benchmark.datasets) == listed.datasets
        assert tuple(benchmark.reads) == listed.reads


@pytest.mark.parametrize("words", [["--help"], ["list"], ["score", "--help"], ["score", "pope", "--help"]])
def test_a_command_imports_only_the_benchmark_that_it_names(words):
    """In a process of its own."""
    code = (
        "import sys; from halluscope import cli; cli.main(sys.argv[1:]); "
        "print(*(name for name in sys.modules if name.startswith('halluscope.benchmarks.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    imported = {name.split(".")[2] for name in done.stderr.split()}
    assert imported == ({"pope"} if "pope" in words else set())


def test_list_says_what_is_built_and_kept(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets" / "pope" / "data").mkdir(parents=True)
    assert cli.main(["list"]) == 0
    printed = capsys.readouterr().out
    assert {"datasets/pope"} <= set(printed.split())
    assert all(dataset.name in printed for dataset in registry.datasets())
    assert "0 votes, 0 replies" in printed
