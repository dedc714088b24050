"""Generates pages of the site: one per benchmark, per command and per room of the API, and those outside docs/.

A benchmark's page combines its metric's card, the help of its builders and options, and its scores, all from the
benchmark's own package: a new benchmark gets a page without an edit here. A command's page is its help. Links to other
sites are listed, not checked.
"""

import re
from collections import defaultdict
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from halluscope import registry
from halluscope.benchmark import Benchmark, Dataset
from halluscope.cli import commands
from halluscope.cli.commands import COMMANDS, Command
from halluscope.cli.pages import page as help_page
from halluscope.options import Option

ROOT = Path(__file__).resolve().parent.parent
ELSEWHERE = {
    "index.md": "README.md",
    "speed.md": "perf/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
}
"""Page of the site -> file of the repository."""

API = {
    "halluscope": ("The package", "What `import halluscope` offers.", ["halluscope"]),
    "benchmark": (
        "A benchmark's class",
        "What a new benchmark derives from; [Adding a benchmark](../contributing.md) shows how.",
        [
            "halluscope.metric",
            "halluscope.labelled",
            "halluscope.judged",
            "halluscope.benchmark",
            "halluscope.options",
        ],
    ),
    "judge": (
        "Judges",
        "What a judge or a voter of your own offers; [Judges](../judges.md) says which there are.",
        ["halluscope.judging.judge", "halluscope.judging.endpoint"],
    ),
    "errors": ("Errors", "What is raised, beside ValueError and OSError.", ["halluscope.errors"]),
}
"""Room of the API -> title, what it holds, its modules. Each metric's `compute` has a page of its own."""

EXAMPLE_OF = {commands.BENCHMARK: "throne", commands.DATASET: "pope"}
"""What follows a command -> the name whose help its page shows."""

PAGES = {source: page for page, source in ELSEWHERE.items()}
NOT_IN_NAV = ("security.md",)

_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)([^)]*)\)")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_PICTURE = re.compile(r"<picture>.*?</picture>", re.DOTALL)
_AWAY = re.compile(r'href="(https?://[^"#]+)')

_away: defaultdict[str, set[str]] = defaultdict(set)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of benchmarks, commands and the API into the navigation."""
    metrics = [{room.title: f"api/{room.name}.md"} for room in registry.benchmarks()]
    pages = {
        "benchmarks/": [{room.title: f"benchmarks/{room.name}.md"} for room in registry.records()],
        "commands/": [{command.name: f"commands/{command.name}.md"} for command in all_commands()],
        "api/": [{title: f"api/{name}.md"} for name, (title, _, _) in API.items()] + [{"Metrics": metrics}],
    }
    for entry in config.nav or ():
        for name, page in entry.items():
            entry[name] = pages.get(page, page)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    made = {page: _moved((ROOT / source).read_text("utf-8"), source) for page, source in ELSEWHERE.items()}
    made |= {f"benchmarks/{room.name}.md": benchmark(room) for room in registry.records()}
    made |= {f"commands/{command.name}.md": command_page(command) for command in all_commands()}
    made |= {f"api/{name}.md": api(*room) for name, room in API.items()}
    made |= {f"api/{room.name}.md": api_of_metric(room) for room in registry.benchmarks()}
    for page, text in made.items():
        file = File.generated(config, page, content=text)
        if page in NOT_IN_NAV:
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page of docs/ that lead elsewhere in the repository."""
    source = f"docs/{page.file.src_uri}"
    return _moved(markdown, source) if source.endswith(".md") and (ROOT / source).exists() else markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Record the links to other sites."""
    for address in _AWAY.findall(html):
        _away[address].add(page.file.src_uri)
    return html


def on_post_build(config: MkDocsConfig) -> None:
    """List the links to other sites, which are not checked."""
    lines = [f"{address}  {', '.join(sorted(pages))}" for address, pages in sorted(_away.items())]
    (Path(config.site_dir) / "links.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"{len(lines)} links to other sites are not checked: {config.site_dir}/links.txt")


def benchmark(room: Benchmark) -> str:
    """Return a benchmark's page."""
    card = ROOT / "metrics" / room.name / "README.md"
    text = (
        _FRONT.sub("", card.read_text("utf-8")) if card.is_file() else f"# {room.title}\n{room.description}"
    )
    parts = [text.strip(), *(_dataset(room, dataset) for dataset in room.datasets)]
    parts += [_options(room), _scores(room), f"## Licence\n{room.licence}"]
    parts.append("## Sources\n" + "\n".join(f"- <{link}>" for link in room.links))
    return "\n\n".join(filter(None, parts)) + "\n"


def all_commands() -> list[Command]:
    """Return the commands in the order of the help."""
    return [command for group in COMMANDS.values() for command in group]


def command_page(command: Command) -> str:
    """Return a command's page: its help, and that of its own commands, or of one name that may follow it."""
    parts = [f"# halluscope {command.name}", _help_of([command.name])]
    if command.follows:
        name = EXAMPLE_OF[command.follows]
        parts.append(
            f"Each name has a page of its own in the help, such as `halluscope {command.name} {name} --help`:"
        )
        parts.append(_help_of([command.name, name]))
    parts += _inner_help([command.name], command)
    return "\n\n".join(parts) + "\n"


def _inner_help(words: list[str], command: Command) -> list[str]:
    """Return the help of a command's own commands, each below a heading."""
    parts = []
    for inner in command.commands:
        named = [*words, inner.name]
        parts += [f"## halluscope {' '.join(named)}", _help_of(named), *_inner_help(named, inner)]
    return parts


def _help_of(words: list[str]) -> str:
    """Return the help of a command as a block of text."""
    return f"```text\n{help_page(commands.app(words), words)}\n```"


def api(title: str, about: str, modules: list[str]) -> str:
    """Return the page of a room of the API."""
    return "\n\n".join([f"# {title}", about, *(f"::: {module}" for module in modules)]) + "\n"


def api_of_metric(room: Benchmark) -> str:
    """Return the page of a metric's `compute`."""
    about = f"{room.about[0].upper()}{room.about[1:]}. [The benchmark's page](../benchmarks/{room.name}.md) says more."
    return f"# {room.title}: compute\n\n{about}\n\n::: halluscope.benchmarks.{room.name}.metric.compute\n"


def _dataset(room: Benchmark, dataset: Dataset) -> str:
    """Return the section that says how a dataset is built."""
    about = room.builder(dataset).about.strip()
    return f"## Dataset `{dataset.name}`\n```text\n{about}\n```"


def _options(room: Benchmark) -> str:
    rows = [f"| `--{option.name.replace('_', '-')}` | {_help(option)} |" for option in room.options]
    return "\n".join(["## Options of `halluscope score`", "| option | |", "|---|---|", *rows]) if rows else ""


def _help(option: Option) -> str:
    named = f" ({', '.join(option.choices)})" if option.choices else ""
    return (option.help + named).replace("|", "\\|").replace("<", "&lt;")


def _scores(room: Benchmark) -> str:
    rows = []
    for name, score in room.scores.items():
        better = f"{score.better} is better" if score.better else ""
        rows.append(f"| `{name}` | {better} |")
    principal = f"Models are compared by `{room.principal}`."
    return "\n".join(["## Scores", principal, "", "| score | |", "|---|---|", *rows]) if rows else ""


def _moved(text: str, source: str) -> str:
    """Return a file's text with links from the site's root; a link to a file without a page becomes plain text."""

    def link(found: re.Match[str]) -> str:
        words, target, place = found.groups()
        if "://" in target:
            return found[0]
        page = _page((ROOT / source).parent.joinpath(target).resolve().relative_to(ROOT).as_posix())
        return f"[{words}]({page}{place})" if page else words

    return _LINK.sub(link, _PICTURE.sub(_two_pictures, text))


def _two_pictures(found: re.Match[str]) -> str:
    """Return a picture for each of the site's schemes of colours, where a file has one that asks the browser."""
    (dark,) = re.findall(r'srcset="([^"]+)"', found[0])
    ((words, light),) = re.findall(r'alt="([^"]+)" src="([^"]+)"', found[0])
    return f"![{words}]({light}#only-light)\n![{words}]({dark}#only-dark)"


def _page(path: str) -> str:
    """Return the page that shows a file of the repository, or "" if no page does."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    card = re.fullmatch(r"(?:metrics/(\w+)/README|dataset_cards/(\w+))\.md", path)
    return f"benchmarks/{registry.benchmark(card[1] or card[2]).name}.md" if card else PAGES.get(path, "")
