"""Generates pages of the site: one per benchmark, per command and per room of the API, and those outside docs/.

A benchmark's page combines its metric's card, the help of its builders and options, and its scores, all from the
benchmark's own package: a new benchmark gets a page without an edit here. A command's page is its help. Links to other
sites are listed, not checked.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from halluscope import registry
from halluscope.benchmark import Benchmark, Dataset
from halluscope.building.spec import licence_of
from halluscope.cli import commands
from halluscope.cli.commands import COMMANDS, Command
from halluscope.cli.pages import page as help_page
from halluscope.options import Option

ROOT = Path(__file__).resolve().parent.parent

# Page of the site -> file of the repository
ELSEWHERE = {
    "index.md": "README.md",
    "speed.md": "perf/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
}

NOT_IN_NAV = ("security.md",)


@dataclass(frozen=True)
class Room:
    """A page of the API."""

    title: str
    about: str
    modules: tuple[str, ...]


# Name of the page -> what it holds. Each metric's `compute` has a page of its own.
API = {
    "halluscope": Room("The package", "What `import halluscope` offers.", ("halluscope",)),
    "benchmark": Room(
        "A benchmark's class",
        "What a new benchmark derives from; [Adding a benchmark](../contributing.md) shows how.",
        (
            "halluscope.metric",
            "halluscope.labelled",
            "halluscope.judged",
            "halluscope.benchmark",
            "halluscope.options",
        ),
    ),
    "judge": Room(
        "Judges",
        "What a judge or a voter of your own offers; [Judges](../judges.md) says which there are.",
        ("halluscope.judging.judge", "halluscope.judging.endpoint"),
    ),
    "errors": Room("Errors", "What is raised, beside ValueError and OSError.", ("halluscope.errors",)),
}

# What follows a command -> the name whose help its page shows
EXAMPLE_OF = {commands.BENCHMARK: "throne", commands.DATASET: "pope"}

_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)([^)]*)\)")
_PICTURE = re.compile(r"<picture>.*?</picture>", re.DOTALL)
_AWAY = re.compile(r'href="(https?://[^"#]+)')

# Address of another site -> the pages that link to it
_away: defaultdict[str, set[str]] = defaultdict(set)


# What mkdocs calls


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of benchmarks, commands and the API into the navigation."""
    of_benchmarks = [{benchmark.title: f"benchmarks/{benchmark.name}.md"} for benchmark in registry.records()]
    of_commands = [{command.name: f"commands/{command.name}.md"} for command in all_commands()]
    of_metrics = [{benchmark.title: f"api/{benchmark.name}.md"} for benchmark in registry.benchmarks()]
    of_api: list[dict[str, object]] = []
    for name, room in API.items():
        of_api.append({room.title: f"api/{name}.md"})
    of_api.append({"Metrics": of_metrics})
    pages = {"benchmarks/": of_benchmarks, "commands/": of_commands, "api/": of_api}
    for entry in config.nav or ():
        for title, page in entry.items():
            entry[title] = pages.get(page, page)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    texts = {}
    for page, source in ELSEWHERE.items():
        texts[page] = moved((ROOT / source).read_text("utf-8"), source)
    for benchmark in registry.records():
        texts[f"benchmarks/{benchmark.name}.md"] = page_of_benchmark(benchmark)
    for command in all_commands():
        texts[f"commands/{command.name}.md"] = page_of_command(command)
    for name, room in API.items():
        texts[f"api/{name}.md"] = page_of_room(room)
    for benchmark in registry.benchmarks():
        texts[f"api/{benchmark.name}.md"] = page_of_metric(benchmark)
    for page, text in texts.items():
        file = File.generated(config, page, content=text)
        if page in NOT_IN_NAV:
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page of docs/ that lead elsewhere in the repository."""
    source = f"docs/{page.file.src_uri}"
    if source.endswith(".md") and (ROOT / source).exists():
        return moved(markdown, source)
    return markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Record the links to other sites."""
    for address in _AWAY.findall(html):
        _away[address].add(page.file.src_uri)
    return html


def on_post_build(config: MkDocsConfig) -> None:
    """List the links to other sites, which are not checked."""
    lines = []
    for address, pages in sorted(_away.items()):
        lines.append(f"{address}  {', '.join(sorted(pages))}\n")
    (Path(config.site_dir) / "links.txt").write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} links to other sites are not checked: {config.site_dir}/links.txt")


# Benchmarks


def page_of_benchmark(benchmark: Benchmark) -> str:
    card = ROOT / "metrics" / benchmark.name / "README.md"
    text = f"# {benchmark.title}\n{benchmark.description}"
    if card.is_file():
        text = card.read_text("utf-8")
    parts = [text.strip()]
    for dataset in benchmark.datasets:
        parts.append(_dataset(benchmark, dataset))
    if benchmark.options:
        parts.append(_options(benchmark))
    if benchmark.scores:
        parts.append(_scores(benchmark))
    parts.append(f"## Licence\n{licence_of(benchmark)}")
    links = [f"- <{link}>" for link in benchmark.links]
    parts.append("## Sources\n" + "\n".join(links))
    parts.append(f"## Citation\n```bibtex\n{benchmark.citation.strip()}\n```")
    return _joined(parts)


def _dataset(benchmark: Benchmark, dataset: Dataset) -> str:
    """Return the section that says how a dataset is built."""
    about = benchmark.builder(dataset).about.strip()
    return f"## Dataset `{dataset.name}`\n```text\n{about}\n```"


def _options(benchmark: Benchmark) -> str:
    lines = ["## Options of `halluscope score`", "| option | |", "|---|---|"]
    for option in benchmark.options:
        lines.append(f"| `--{option.name.replace('_', '-')}` | {_help(option)} |")
    return "\n".join(lines)


def _help(option: Option) -> str:
    text = option.help
    if option.choices:
        text += f" ({', '.join(option.choices)})"
    return text.replace("|", "\\|").replace("<", "&lt;")


def _scores(benchmark: Benchmark) -> str:
    lines = ["## Scores", f"Models are compared by `{benchmark.principal}`.", "", "| score | |", "|---|---|"]
    for name, score in benchmark.scores.items():
        better = ""
        if score.better:
            better = f"{score.better} is better"
        lines.append(f"| `{name}` | {better} |")
    return "\n".join(lines)


# Commands


def all_commands() -> list[Command]:
    """Return the commands in the order of the help."""
    each = []
    for group in COMMANDS.values():
        each += group
    return each


def page_of_command(command: Command) -> str:
    """Return a command's page: its help, and that of its own commands, or of one name that may follow it."""
    parts = [f"# halluscope {command.name}", _help_of([command.name])]
    if command.follows:
        name = EXAMPLE_OF[command.follows]
        example = f"halluscope {command.name} {name} --help"
        parts.append(f"Each name has a page of its own in the help, such as `{example}`:")
        parts.append(_help_of([command.name, name]))
    parts += _help_of_inner(command, [command.name])
    return _joined(parts)


def _help_of_inner(command: Command, words: list[str]) -> list[str]:
    """Return the help of a command's own commands, each below a heading; the words name the command."""
    parts = []
    for inner in command.commands:
        words_of_inner = words + [inner.name]
        parts.append(f"## halluscope {' '.join(words_of_inner)}")
        parts.append(_help_of(words_of_inner))
        parts += _help_of_inner(inner, words_of_inner)
    return parts


def _help_of(words: list[str]) -> str:
    """Return the help of a command as a block of text."""
    return f"```text\n{help_page(commands.app(words), words)}\n```"


# The API


def page_of_room(room: Room) -> str:
    parts = [f"# {room.title}", room.about]
    for module in room.modules:
        parts.append(f"::: {module}")
    return _joined(parts)


def page_of_metric(benchmark: Benchmark) -> str:
    """Return the page of a metric's `compute`."""
    about = f"{benchmark.about[0].upper()}{benchmark.about[1:]}."
    more = f"[The benchmark's page](../benchmarks/{benchmark.name}.md) says more."
    compute = f"::: halluscope.benchmarks.{benchmark.name}.metric.compute"
    return _joined([f"# {benchmark.title}: compute", f"{about} {more}", compute])


def _joined(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


# Links


def moved(text: str, source: str) -> str:
    """Return a file's text with links from the site's root; a link to a file without a page becomes plain text."""

    def link(match: re.Match[str]) -> str:
        words, target, place = match.groups()
        if "://" in target:
            return match[0]
        path = (ROOT / source).parent.joinpath(target).resolve()
        page = _page(path.relative_to(ROOT).as_posix())
        if page:
            return f"[{words}]({page}{place})"
        return words

    return _LINK.sub(link, _PICTURE.sub(_two_pictures, text))


def _two_pictures(match: re.Match[str]) -> str:
    """Return a picture for each of the site's schemes of colours, where a file has one that asks the browser."""
    (dark,) = re.findall(r'srcset="([^"]+)"', match[0])
    ((words, light),) = re.findall(r'alt="([^"]+)" src="([^"]+)"', match[0])
    return f"![{words}]({light}#only-light)\n![{words}]({dark}#only-dark)"


def _page(path: str) -> str:
    """Return the page that shows a file of the repository, or "" if no page does."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    card = re.fullmatch(r"(?:metrics/(\w+)/README|dataset_cards/(\w+))\.md", path)
    if card:
        return f"benchmarks/{registry.benchmark(card[1] or card[2]).name}.md"
    for page, source in ELSEWHERE.items():
        if source == path:
            return page
    return ""
