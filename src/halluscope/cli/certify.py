"""Measures how often judges err by labels that people gave, and corrects scores by them.

Labels are a sheet that `study sheet make --marks implied` made, or JSON lines; with --run, a sheet of `study sheet make
RUN --marks verdict`: the grader's errors and corrected scores; with --marks, a published set of marks by people. With
--certificate, runs: their corrected scores, and the differences between them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from halluscope import registry, vocabularies
from halluscope.benchmark import Benchmark
from halluscope.cli.parameters import INPUT, File, Files, Folder, Resampling, for_name
from halluscope.cli.printing import Output, check_output
from halluscope.cli.responses import Chosen, chosen, parameters
from halluscope.files.writing import new_file
from halluscope.judging.options import VoteOptions
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Json, to_json
from halluscope.responses.thoughts import KEPT, REMOVED, take_out
from halluscope.runs.folder import check
from halluscope.scoring import Ready
from halluscope.signature import data_of_objects
from halluscope.studies import certificate as certificates
from halluscope.studies import corrected_runs, graders, human_marks
from halluscope.studies.judgement import judge, name_of, rows_of
from halluscope.studies.labels import read_labels


def labelled_benchmark() -> Benchmark:
    """Return THRONE, whose texts people label, with its judges' options only."""
    throne = registry.benchmark("throne")
    judging = {"vocabulary", "thoughts"}
    judging.update(field.name for field in fields(VoteOptions))
    return throne.without({option.name for option in throne.options} - judging)


def judged_texts(choice: Chosen, responses: Sequence[str], dataset: Sequence[str]) -> tuple[Ready, list[str]]:
    """Return one LVLM's responses, and the ids of their images."""
    if len(responses) != 1:
        raise ValueError(
            f"--responses names {len(responses)} files; expected one, since labels are about one LVLM's texts."
        )
    (ready,) = choice.ready(responses, dataset)
    columns = registry.first_dataset(choice.benchmark).id
    ids = []
    for row in ready.matched.rows:
        ids.append(" ".join(str(getattr(row, column)) for column in columns))
    return ready, ids


def command() -> Callable[..., None]:
    """Return the command `certify`, with the options of the judges whose errors are measured."""
    benchmark = labelled_benchmark().without({"ask"})
    return for_name(certify, benchmark.name, parameters(benchmark))


def certify(
    name: str,
    labels: Annotated[Files, Parameter(metavar="LABELS")],
    /,
    *,
    certificate: Annotated[Files, Parameter(metavar="FILE...")] = [],  # noqa: B006
    run: Annotated[Folder | None, Parameter(metavar="RUN")] = None,
    marks: Annotated[str | None, Parameter(choices=human_marks.SETS)] = None,
    synonyms: Annotated[File | None, Parameter(help=human_marks.WORDS)] = None,
    responses: Annotated[Sequence[str], Parameter(metavar="FILE", group=INPUT)] = (),
    dataset: Annotated[Sequence[str], Parameter(metavar="DATASET...", group=INPUT)] = (),
    labelled_by: Annotated[str, Parameter(metavar="WHO")] = "people",
    allow_unmarked: bool = False,
    out: File | None = None,
    resampling: Resampling = Resampling(),
    output: Output = Output(),
    **options: Any,
) -> None:
    """Measure how often judges err, by labels that people gave, and correct scores by them.

    Args:
        labels: a marked sheet of `study sheet make --marks implied`, or JSON lines {id or text, class, answer,
            [weight]}, one for each class of a labelled text; with --marks, the file of that name; with
            --certificate, runs
        certificate: correct the scores of runs, and the differences of each two, by these certificates, which `study
            certify ... --out FILE` wrote: of their grader, or, for THRONE, of the texts of each run
        marks: LABELS is a published set of marks: hat (ALOHa's HAT, words of captions) or faithscore (atomic facts),
            both about images of COCO, whose annotations --dataset names; or it is of cases: JSON lines {text, class,
            answer, [kind]}, which need no dataset
        run: the run whose verdicts the sheet was made for
        responses: the labelled responses of one LVLM
        dataset: the dataset that they are about
        labelled_by: who gave the labels, for the certificate (default: people)
        allow_unmarked: leave out texts that have unmarked rows
        out: write the certificate here, as JSON
    """
    if not labelled_by.strip():
        raise ValueError("--labelled-by is empty; expected who gave the labels.")
    if out:
        check_output(out, options.get("store"))
    if certificate:
        if run or marks or synonyms or responses or dataset or options:
            raise ValueError(
                "--certificate takes runs, which hold their responses and verdicts; leave out all other inputs and "
                "options of judges."
            )
        _show(corrected_runs.correct(labels, certificate, resampling.bootstrapped()), out, output)
        return
    if len(labels) != 1:
        raise ValueError(
            f"Got {len(labels)} files of labels; expected one. Runs are named with --certificate FILE, or one by --run."
        )
    check_inputs(marks, run, responses, dataset)
    if synonyms and not marks:
        raise ValueError("--synonyms is for --marks, where it stands in place of judges.")
    (file,) = labels
    if run:
        if options:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in options)
            raise ValueError(f"A run has its responses and verdicts; leave out {names} beside --run.")
        bootstrap = resampling.bootstrapped()
        graded = graders.certify(file, check(run), labelled_by, allow_unmarked, bootstrap)
        _show(graded, out, output)
        return
    choice = chosen(labelled_benchmark(), name, options)
    if marks:
        content = _by_marks(file, marks, dataset, synonyms, choice)
        report = human_marks.report(content)
    else:
        choice.options["ask"] = "all"  # the labelled texts are few
        ready, ids = judged_texts(choice, responses, dataset)
        content = _certificate(choice, ready, ids, Labelled(file, labelled_by, allow_unmarked))
        report = certificates.report(content)
    _show(Printed(content, report, []), out, output)


def _show(printed: Printed, out: Path | None, output: Output) -> None:
    """Write all that was found to a file, and show it without the labels or marks of each text."""
    if out:
        with new_file(out) as file:
            file.write(to_json(printed) + "\n")
    data = dict(printed)
    for name in ("labels", "marks"):
        data.pop(name, None)
    output.show(data, lambda: printed.report)


def check_inputs(
    marks: str | None, run: Path | None, responses: Sequence[str], dataset: Sequence[str]
) -> None:
    """Check that what was judged is named, in one of three ways."""
    if marks == human_marks.CASES:
        if run or responses or dataset:
            raise ValueError(
                "--marks cases takes none of --run, --responses and --dataset: cases have no images."
            )
        return
    if marks:
        if run or responses or not dataset:
            raise ValueError(
                "--marks needs --dataset, the annotations of COCO's images, and neither --run nor --responses."
            )
        return
    has_responses = bool(responses and dataset)
    if bool(run) == has_responses or (run and (responses or dataset)):
        raise ValueError(
            "Expected --responses and --dataset, or --run alone for a grader, since a run has both."
        )


def _by_marks(path: Path, marks: str, dataset: Sequence[str], synonyms: Path | None, choice: Chosen) -> Json:
    """Return how often judges, or words read by a list of synonyms, err by a published set of marks."""
    vocabulary = vocabularies.load(choice.options.get("vocabulary", "coco"))
    mentions = human_marks.read_marks(path, marks, vocabulary)
    objects = None
    if marks != human_marks.CASES:
        objects = human_marks.objects_in_images(mentions, dataset, vocabulary)
    if synonyms is None:
        read = human_marks.by_votes(mentions, choice.options)
    elif marks == human_marks.CASES:
        raise ValueError("--synonyms is for --marks hat and faithscore; expected --judges for cases.")
    elif "judges" in choice.options:
        raise ValueError("--judges and --synonyms are two ways to read the texts; name one of them.")
    else:
        read = human_marks.by_words(mentions, synonyms)
    return human_marks.certify(marks, mentions, objects, read)


@dataclass(frozen=True)
class Labelled:
    """A file of labels."""

    path: Path
    labelled_by: str
    allow_unmarked: bool


def _certificate(choice: Chosen, ready: Ready, ids: Sequence[str], labelled: Labelled) -> Json:
    """Return the certificate of judges: how often they err on the labelled texts."""
    texts = take_out(ready.matched.texts, choice.options.get("thoughts", REMOVED)).texts
    options = {**choice.options, "thoughts": KEPT}  # of what is left, all is judged
    references = ready.inputs["references"]
    population = rows_of(texts)
    vocabulary = vocabularies.load(options.get("vocabulary", "coco"))
    labels = read_labels(labelled.path, texts, ids, vocabulary, labelled.allow_unmarked)
    rows = [population[text] for text in labels.texts]
    judgement = judge([texts[row] for row in rows], [references[row] for row in rows], options)
    corrected = None
    if labels.suffice(texts):
        everything = judge(texts, references, {**options, "ask": "needed"})
        corrected = certificates.corrected_scores(everything, labels)
    return certificates.certify(
        judgement,
        labels,
        options.get("store"),
        corrected,
        texts=name_of(population),
        labelled_by=labelled.labelled_by,
        responses=ready.matched.name,
        data=data_of_objects(vocabulary.name, references, ready.inputs["image_ids"]),
    )
