"""Scores each file of a folder under the benchmark that `halluscope inspect` names."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from halluscope import registry
from halluscope.building.build_info import MANIFEST
from halluscope.cli import commands
from halluscope.cli.parameters import OUTPUT, Folder
from halluscope.files.opening import plain_name
from halluscope.files.writing import check_new
from halluscope.inspection.inspecting import DATASET, JUDGE, RESPONSES, VERDICTS, Inspection, inspect
from halluscope.inspection.printed import letters
from halluscope.judging.verdicts import RUN
from halluscope.responses import answer_lists, reading
from halluscope.responses.names import only_one_in
from halluscope.sanitize import one_line, short_repr, typed
from halluscope.terminal import say, tell, tell_error

NAMED = 3  # how many of the files that are left out for one reason are named


@dataclass
class Model:
    """One LVLM's responses to a benchmark."""

    folder: Path
    name: str  # of its files, without the name of a part
    benchmark_names: set[str]  # how the benchmark may be called, in small letters and digits
    files: dict[str, Path] = field(default_factory=dict)  # by the part of the dataset; "" for all of it

    @property
    def is_called_as_benchmark(self) -> bool:
        return letters(self.name) in self.benchmark_names


@dataclass
class Group:
    """Files that one command scores."""

    name: str  # of the benchmark
    words: list[str]  # what follows the files on the command line
    files: list[Path] = field(default_factory=list)
    # the files that are called as the part of the benchmark that they answer, such as a subtask
    parts: dict[Path, str] = field(default_factory=dict)

    @cached_property
    def models(self) -> list[Model]:
        """The LVLMs whose files they are, once all files are there."""
        return models_of(self)


def score_folder(
    *,
    responses: Folder,
    out: Annotated[Folder, Parameter(group=OUTPUT)],
    judge: Annotated[str, Parameter(metavar="JUDGE")] = "",
) -> None:
    """Score each file of a folder under the benchmark that `halluscope inspect` names, and write a run of each.

    Args:
        responses: the folder with files of responses, of any benchmarks and LVLMs, also in folders of its own
        out: a new folder for the runs; `halluscope table` puts them into one table
        judge: who gives verdicts, for benchmarks that need one
    """
    if not responses.is_dir():
        raise ValueError(
            f"--responses is {short_repr(str(responses))}; expected a folder with files of responses. For one file, "
            "name the benchmark: `halluscope score NAME --responses FILE`; `halluscope inspect FILE` says which."
        )
    check_new(out)
    groups, left_out = groups_of(responses, judge, out)
    words_by_place: dict[str, list[str]] = {}  # name of a group's folder -> the command that scores it
    for group in groups:
        words = words_of(group, groups, responses, out)
        if DATASET in words:
            left_out[what_to_type(group, words)] = [str(file.relative_to(responses)) for file in group.files]
        else:
            words_by_place[place(group, groups)] = words
    failed = []
    for name, words in words_by_place.items():
        if not run(words):
            failed.append(name)
    tell_left_out(left_out)
    if not words_by_place:
        raise ValueError(
            f"No file in {one_line(responses)} could be scored, so {one_line(out)} was not written."
        )
    shows_table = f"`{typed(['table', str(out)])}`"
    if failed:
        others = ""
        if len(failed) < len(words_by_place):
            others = f" {shows_table} shows the others."
        raise ValueError(
            f"{len(failed)} of {len(words_by_place)} benchmarks were not scored: {', '.join(failed)}. Once what the "
            f"messages name is mended, type the commands above again.{others}"
        )
    tell(f"Next: {shows_table} puts all models into one table.")


def run(words: list[str]) -> bool:
    """Show and run a command that scores a benchmark, and return whether it could; an error is told."""
    could = True
    say(f"{typed(words)}\n")
    try:
        commands.run(words, words)
    except (ValueError, OSError, ImportError) as error:
        tell_error(f"{words[1]}: {error}")
        could = False
    say("")
    return could


# Which files are scored


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of its folders, without hidden ones, runs and built datasets.

    A folder of text files, one per subtask, is as one file.
    """
    for name, folders, files in os.walk(folder):
        here = Path(name)
        if RUN in files or MANIFEST in files:
            folders.clear()
            continue
        if answer_lists.is_folder_of_lists(here):
            yield here
            continue
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        for file in sorted(files):
            if not file.startswith("."):
                yield here / file


def groups_of(folder: Path, judge: str, out: Path) -> tuple[list[Group], dict[str, list[str]]]:
    """Return the files whose benchmark is known, those of one benchmark and dataset together; and why -> which others
    cannot be scored.
    """
    groups: dict[tuple[str, ...], Group] = {}
    left_out: dict[str, list[str]] = {}
    for file in files_of(folder):
        try:
            inspection = by_name(inspect(file), file)
            reason = why_not(inspection, judge, out)
        except (ValueError, OSError) as error:
            reason = str(error)
        if reason:
            left_out.setdefault(reason, []).append(str(file.relative_to(folder)))
            continue
        words = list(words_after_files(inspection, judge))
        name = inspection.benchmarks[0]
        group = groups.setdefault((name, *words), Group(name, words))
        group.files.append(file)
        if plain_name(file) == inspection.about:
            group.parts[file] = inspection.about
    for group in groups.values():
        for file, first in copies_among(group.files):
            group.files.remove(file)
            reason = f"the same responses as {one_line(first.name)}."
            left_out.setdefault(reason, []).append(str(file.relative_to(folder)))
    return list(groups.values()), left_out


def copies_among(files: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each file with the responses of another one, whose name begins its own, and that one.

    VLMEvalKit writes its table again with what was read in each response ("A_MME.xlsx", "A_MME_auxmatch.xlsx").
    """
    for file in list(files):
        for first in list(files):
            is_named_so = plain_name(file).startswith(f"{plain_name(first)}_")
            if first.parent != file.parent or not is_named_so:
                continue
            texts = texts_in(file)
            if texts and texts == texts_in(first):
                yield file, first
                break


def texts_in(file: Path) -> list[str]:
    """Return a file's responses; [] if it is refused, which `score` says."""
    try:
        (responses,) = reading.read([file])
    except ValueError:
        return []
    return responses.texts


def tell_left_out(left_out: Mapping[str, Sequence[str]]) -> None:
    """Say which files are not scored, a line for each reason, and what to type for them."""
    if not left_out:
        return
    tell("Not scored:")
    for reason, files in left_out.items():
        tell(f"  {listed(files)}: {reason}")


def listed(files: Sequence[str]) -> str:
    """Name the first of some files, and say how many more there are."""
    names = ", ".join(one_line(file) for file in files[:NAMED])
    if len(files) > NAMED:
        names += f" and {len(files) - NAMED:,} more"
    return names


def by_name(inspection: Inspection, file: Path) -> Inspection:
    """Choose the benchmark that a file is called as, where its content does not tell which of several it is."""
    if inspection.kind != RESPONSES or inspection.problem or len(inspection.benchmarks) == 1:
        return inspection
    for benchmark in registry.benchmarks():
        is_called_so = letters(plain_name(file)) in (letters(benchmark.name), letters(benchmark.title))
        may_be = not inspection.benchmarks or benchmark.name in inspection.benchmarks
        if benchmark.is_scored and is_called_so and may_be:
            words = ["score", benchmark.name, "--responses", inspection.file, "--dataset", DATASET]
            return replace(inspection, benchmarks=[benchmark.name], words=words)
    return inspection


def why_not(inspection: Inspection, judge: str, out: Path) -> str:
    """Return why a file cannot be scored without more being said, and what to type; "" if it can."""
    if inspection.kind == VERDICTS:
        return "verdicts, not responses; score the responses with --ratings FILE."
    if inspection.kind != RESPONSES:
        return f"{inspection.kind}, not responses."
    if inspection.problem:
        return inspection.problem
    if not inspection.benchmarks:
        return f"which benchmark these responses are for is not known; name it: {command('NAME', [DATASET], out)}."
    name = inspection.benchmarks[0]
    if len(inspection.benchmarks) > 1:
        names = " or ".join(inspection.benchmarks)
        return f"responses for {names}; choose one, and name what has the images: {command(name, [DATASET], out)}."
    if JUDGE in inspection.words and not judge:
        dataset = inspection.words[inspection.words.index("--dataset") + 1]
        typed_with_ratings = command(name, [dataset, "--ratings", "FILE"], out)
        return f"{name} needs a judge; pass --judge JUDGE, or score with ratings that you have: {typed_with_ratings}."
    return ""


def command(name: str, words: Sequence[str], out: Path) -> str:
    """Return a command that scores files by themselves, for a message."""
    place = shlex.quote(one_line(out / name))
    return f"`halluscope score {name} --responses FILE... --dataset {' '.join(words)} --out {place}`"


# What is typed


def what_to_type(group: Group, words: Sequence[str]) -> str:
    """Say how to score files of which it is not sure that they are about the benchmark's own dataset."""
    benchmark = registry.benchmark(group.name)
    if benchmark.partial_ok:  # responses describe any images
        return (
            f"put what these responses are about in the place of {DATASET} (`halluscope score {group.name} "
            f"--help` says what that can be): `{typed(words)}`."
        )
    own = registry.first_dataset(benchmark).name
    command_for_own = [own if word == DATASET else word for word in words]
    return (
        f"it is not sure that these responses are about {own}; if they are: `{typed(command_for_own)}` "
        f"(`halluscope score {group.name} --help` says which other datasets there are)."
    )


def words_of(group: Group, groups: Sequence[Group], top: Path, out: Path) -> list[str]:
    """Return the command that scores a group."""
    words = ["score", group.name, "--responses"]
    words += words_of_models(group, groups, top)
    words += group.words
    words += ["--out", str(out / place(group, groups))]
    return words


def words_after_files(inspection: Inspection, judge: str) -> Iterator[str]:
    """Yield what follows a file in the command that scores it."""
    after = inspection.words.index(inspection.file) + 1
    for word in inspection.words[after:]:
        yield judge if word == JUDGE else word


def words_of_models(group: Group, groups: Sequence[Group], top: Path) -> list[str]:
    """Return a word for each LVLM: its file; or NAME=FILE,FILE if it has one per part, or its folder names it."""
    alone = []
    named = []
    for model in group.models:
        name = name_among(model, group, groups, top)
        texts = [str(file) for file in model.files.values()]
        has_name = len(texts) > 1 or name != model.name
        can_be_typed = "=" not in name and (len(texts) == 1 or not any("," in text for text in texts))
        if has_name and can_be_typed:
            named.append(f"{name}={','.join(texts)}")
        else:
            alone += texts
    return alone + named


def models_of(group: Group) -> list[Model]:
    """Return the LVLMs of a benchmark; files that only the name of a part tells apart are one LVLM's."""
    parts: list[str] = []
    for values in registry.first_dataset(registry.benchmark(group.name)).also.values():
        parts += values
    benchmark_names = names_of_benchmark(group)
    models = []
    in_parts: dict[tuple[Path, str], Model] = {}
    for file in group.files:
        part = only_one_in(plain_name(file), parts) or group.parts.get(file, "")
        if not part:
            models.append(Model(file.parent, plain_name(file), benchmark_names, {part: file}))
            continue
        name = name_without(file, part)
        model = in_parts.setdefault((file.parent, name), Model(file.parent, name, benchmark_names))
        if part in model.files:
            models.append(Model(file.parent, plain_name(file), benchmark_names, {part: file}))
        else:
            model.files[part] = file
    for model in in_parts.values():
        if len(model.files) == 1:
            model.name = plain_name(*model.files.values())
    return models + list(in_parts.values())


def name_among(model: Model, group: Group, groups: Sequence[Group], top: Path) -> str:
    """Name an LVLM of a group by its files; or by its folder, if that is one LVLM's and no file's name tells it."""
    names = [other.name for other in group.models]
    is_alike = names.count(model.name) > 1 and model.folder != top
    if is_named_by_folder(model, is_alike, groups, top):
        return folder_name(model.folder, top)
    if is_alike and len(model.files) > 1:
        if model.name == model.folder.name:  # the parts' names say nothing more
            return folder_name(model.folder, top)
        folders = [other.folder.name for other in group.models if other.name == model.name]
        if folders.count(model.folder.name) > 1:
            return f"{folder_name(model.folder, top)}/{model.name}"
        return f"{model.folder.name}/{model.name}"
    return model.name  # `score` puts folders before names that are alike


def is_named_by_folder(model: Model, is_alike: bool, groups: Sequence[Group], top: Path) -> bool:
    """Whether an LVLM is called as its folder; `is_alike` if another one's files are called as its own."""
    if is_folder_per_model(groups, top):
        return True
    in_folder = responses_of_one_model(model.folder, groups)
    is_about_several = len(in_folder) > 1
    if is_about_several and is_alike:
        return True
    are_called_as_benchmarks = bool(in_folder) and all(other.is_called_as_benchmark for other in in_folder)
    return are_called_as_benchmarks and (is_about_several or model.folder != top)


def is_folder_per_model(groups: Sequence[Group], top: Path) -> bool:
    """Whether each folder is one LVLM's, and the folders are about the same benchmarks.

    So they are if some benchmark is in two folders, and some folder has two benchmarks.
    """
    benchmarks_of_folder: dict[Path, int] = {}
    most_folders = 0
    for group in groups:
        folders = [model.folder for model in group.models]
        if top in folders or len(set(folders)) < len(folders):
            return False
        most_folders = max(most_folders, len(folders))
        for folder in folders:
            benchmarks_of_folder[folder] = benchmarks_of_folder.get(folder, 0) + 1
    return most_folders > 1 and max(benchmarks_of_folder.values()) > 1


def responses_of_one_model(folder: Path, groups: Sequence[Group]) -> list[Model]:
    """Return what a folder holds, if it is one LVLM's: responses to each benchmark once; otherwise []."""
    in_folder: list[Model] = []
    for group in groups:
        of_group = [model for model in group.models if model.folder == folder]
        if len(of_group) > 1:
            return []
        in_folder += of_group
    return in_folder


def names_of_benchmark(group: Group) -> set[str]:
    """Return how a benchmark, and the dataset that its files are about, may be called, in small letters and digits."""
    benchmark = registry.benchmark(group.name)
    dataset = group.words[group.words.index("--dataset") + 1]
    config = f"{group.name} {registry.first_dataset(benchmark).config}"
    return {letters(name) for name in (group.name, benchmark.title, dataset, config)}


def folder_name(folder: Path, top: Path) -> str:
    """Return what an LVLM is called by its folder."""
    if folder == top:
        return folder.resolve().name
    return str(folder.relative_to(top))


def name_without(file: Path, part: str) -> str:
    """Return a file's name without the name of a part, and without its folder."""
    name = re.sub(
        rf"[^A-Za-z0-9]*{re.escape(part)}(?![A-Za-z0-9])", "", plain_name(file), count=1, flags=re.IGNORECASE
    )
    return name.strip("-_. ") or plain_name(file.parent)


def place(group: Group, groups: Iterable[Group]) -> str:
    """Return the name of a group's folder: that of its benchmark, with a number if several have it."""
    same = [member for member in groups if member.name == group.name]
    number = same.index(group)
    if number:
        return f"{group.name}-{number + 1}"
    return group.name
