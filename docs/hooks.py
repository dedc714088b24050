"""Generates pages of the site: one per benchmark, the API, and pages whose text lies outside docs/.

A benchmark's page combines its metric's card, the help of its builders and options, and its scores, all from the
benchmark's own package: a new benchmark gets a page without an edit here. Links to other sites are listed, not checked.
"""

import re
from collections import defaultdict
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from halluscope import registry
from halluscope.benchmark import Benchmark, Dataset
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

PAGES = {source: page for page, source in ELSEWHERE.items()}
NOT_IN_NAV = ("security.md",)

_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)([^)]*)\)")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_AWAY = re.compile(r'href="(https?://[^"#]+)')

_away: defaultdict[str, set[str]] = defaultdict(set)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the benchmarks' pages into the navigation."""
    pages = [{room.title: f"benchmarks/{room.name}.md"} for room in registry.records()]
    for entry in config.nav or ():
        for name, page in entry.items():
            if page == "benchmarks/":
                entry[name] = pages
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    made = {page: _moved((ROOT / source).read_text("utf-8"), source) for page, source in ELSEWHERE.items()}
    made |= {f"benchmarks/{room.name}.md": benchmark(room) for room in registry.records()}
    made["api.md"] = api()
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


def api() -> str:
    """Return the page of the API: the package's public names, then each metric's `compute`."""
    metrics = [f"## {room.title}\n{_documented(room)}" for room in registry.benchmarks()]
    return "\n\n".join(["# API", "::: halluscope", *metrics]) + "\n"


def _documented(room: Benchmark) -> str:
    return f"::: halluscope.benchmarks.{room.name}.metric.compute\n    options: {{heading_level: 3}}"


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

    return _LINK.sub(link, text)


def _page(path: str) -> str:
    """Return the page that shows a file of the repository, or "" if no page does."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    card = re.fullmatch(r"(?:metrics/(\w+)/README|dataset_cards/(\w+))\.md", path)
    return f"benchmarks/{registry.benchmark(card[1] or card[2]).name}.md" if card else PAGES.get(path, "")
