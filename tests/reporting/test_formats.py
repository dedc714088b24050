"""Exports: each format has the table's content, and no text in a cell affects anything else."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from halluscope import registry
from halluscope.reporting.formats import (
    CSV,
    FORMATS,
    FORMULA,
    LATEX,
    MARKDOWN,
    TABLE,
    WIDEST,
    aligned,
    text_notes,
    written,
)
from halluscope.reporting.tables import Notes, Number, Table, class_table, plain, share, to_json
from halluscope.sanitize import one_line
from tests.reporting import pages
from tests.runs.made import made
from tests.small_datasets import needs

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* was built from annotations without"),
]

HOSTILE = (
    *pages.HOSTILE,
    "+1",
    "\t=1",
    "\r\n=1",
    "＝1",
    r"\\[1ex] * [2]",
    "?` !` ,, << >> '' `` \"",
    "^^41 ^^M",
    "\\",
)
HARMLESS = "harmless"
each_hostile = pytest.mark.parametrize("text", HOSTILE, ids=[ascii(text)[:20] for text in HOSTILE])


def report(text):
    """Return a report with the text in every place that shows foreign text."""
    rows = [[text, 1, share(0.5, (0.25, 0.75))._replace(best=True)], ["other", -2, share(-0.25)]]
    ranked = Table("scores", ["responses", "n", "f1"], rows, ranked=True, intervals=("f1",))
    turned = Table("groups", ["responses", "a", "b"], [[text, 1, plain(2.5)]], turned=True)
    classes = class_table({"classes": {text: {"yes": 1, "f1": 0.125}, "cat": {"yes": 2, "f1": 1.0}}}, text)
    return [ranked, turned, Notes([text, "an end"], text), classes]


def told(text, style):
    return written(report(text), style)


def rows_of(text):
    csv.field_size_limit(10**7)
    return list(csv.reader(io.StringIO(told(text, CSV), newline=""), strict=True))


@each_hostile
def test_csv_changes_in_one_cell(text):
    guarded = one_line(text) if one_line(text)[0] not in FORMULA else f"'{one_line(text)}"
    expected = [[guarded if cell == HARMLESS else cell for cell in row] for row in rows_of(HARMLESS)]
    assert rows_of(text) == expected
    texts = [cell for row in rows_of(text) for cell in row if not re.fullmatch(r"-?\d+(\.\d+)?|", cell)]
    assert not [cell for cell in texts if cell.startswith(tuple(FORMULA))]


def test_csv_is_one_table_with_all_digits():
    """pandas reads it directly: fractions as in JSON, ends and marks in separate columns, empty cells for undefined."""
    rows = [["a", Number(10, "d", mark="*"), share(1 / 3, (0.25, 0.5))], ["b", 20, share(None)]]
    parts = [Table("scores", ["responses", "rows", "f1"], rows), Notes(["said"])]
    text = written(parts, CSV)
    assert text.split("\n") == [
        "responses,rows,rows mark,f1,f1 low,f1 high",
        "a,10,*,0.3333333333333333,0.25,0.5",
        "b,20,,,,",
    ]
    assert text_notes(parts) == "said"
    assert [row[0] for row in rows_of(HARMLESS)] == ["table", *["scores"] * 2, "groups", *["classes"] * 2]
    assert rows_of(HARMLESS)[2][3] == "-0.25"


def markdown(text):
    """Return the kinds of its blocks, the other elements in each, and the texts."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(told(text, MARKDOWN))
    inner = [token.children or [] for token in tokens if token.type == "inline"]
    texts = ["".join(child.content for child in each) for each in inner]
    within = [[child.type for child in each if not child.type.startswith("text")] for each in inner]
    return [(token.type, token.tag) for token in tokens], within, texts


@each_hostile
def test_markdown_changes_in_one_cell(text):
    kinds, within, texts = markdown(text)
    others, plain_within, harmless = markdown(HARMLESS)
    assert kinds == others and within == plain_within
    assert texts == [one.replace(HARMLESS, one_line(text).strip()) for one in harmless]
    assert "| harmless | 1 | **50.0** | 25.0 to 75.0 |" in told(HARMLESS, MARKDOWN)


SAYS = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^"}
SAYS |= {"textless": "<", "textgreater": ">", "textbar": "|"}
TOKEN = re.compile(
    r"\\char34\{\}|\\(?P<word>[a-z]+)\{\}|\\(?P<sign>[&%$#_{}])|\{(?P<held>[^\\{}%&$#_^~])\}|(?P<plain>[^\\{}%&$#_^~\[\]*`]+)"
)
NUMBERS = re.compile(r"(\\textbf\{)?\$?-?[\d.]+\}?\$?|--|\$F_[\d]\$")


def read(cell):
    """The text that a cell prints; a sign that means something to LaTeX is an error."""
    said, at = "", 0
    while at < len(cell):
        found = TOKEN.match(cell, at)
        assert found, cell[at : at + 40]
        word, sign, held, letters = found.group("word", "sign", "held", "plain")
        said += SAYS[word] if word else sign or held or letters or '"'
        at = found.end()
    return said


def latex(text):
    """Return the cells of each line of the tables, and all other lines except comments."""
    cells, others = [], []
    for line in told(text, LATEX).split("\n"):
        if line.endswith(r" \\"):
            row = re.split(r" (?<!\\)& ", line.removesuffix(r" \\"))
            cells.append([cell if NUMBERS.fullmatch(cell) else read(cell) for cell in row])
        elif not line.startswith("% "):
            others.append(line)
    return cells, others


@each_hostile
def test_latex_changes_in_one_cell(text):
    cells, others = latex(text)
    harmless = HARMLESS.title()  # a name in small letters might be a score's, whose heading is another
    expected, lines = latex(harmless)
    assert others == lines
    assert cells == [[cell.replace(harmless, one_line(text)) for cell in row] for row in expected]


def test_latex_is_booktabs_with_the_headings_of_papers():
    text = written([report(HARMLESS)[0]], LATEX, intervals=True)
    assert text.split("\n") == [
        "% scores",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"Responses & N & $F_1$ \\",
        r"\midrule",
        r"harmless & 1 & $\mathbf{50.0}_{25.0}^{75.0}$ \\",
        r"other & -2 & $-25.0$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    names = ["f1", "f0.5_cls", "f1/existence", "yes_ratio", "aAcc", "Holm p", "f", "f1_mean"]
    heads = r"$F_1$ & $F_{0.5}$ (cls) & $F_1$ (existence) & Yes ratio & aAcc & Holm p & F & $F_1$ (mean) \\"
    assert written([Table("s", names, [[""] * 8])], LATEX).split("\n")[3] == heads


@each_hostile
def test_tables_for_people_keep_their_form(text):
    lines, others = (told(each, TABLE).split("\n") for each in (text, HARMLESS))
    assert len(lines) == len(others)
    tables = [line for line in lines if re.search(r"-{3}  |  \S+$", line) and one_line(text) not in line]
    assert max(map(len, tables)) <= WIDEST
    assert json.loads(to_json({text: text})) == {text: text}


def test_names_that_differ_in_the_middle_stay_apart():
    """Long names are cut only if one can still tell them apart."""
    names = [
        f"llava-v1.5-7b-on-all-three-samplings-temperature-{t}-with-the-image-before-the-text" for t in (0, 1)
    ]
    names.append("another-long-name-that-nobody-else-here-has-at-all")
    for columns in (["f1"], [f"score {number}" for number in range(9)]):
        rows = [[name, *[share(0.5)] * len(columns)] for name in names]
        for turned in (False, True):
            said = written(
                [Table("scores", ["responses", *columns], rows, ranked=True, turned=turned)], TABLE
            )
            assert [said.count(name) for name in names] == [1, 1, 0]
            assert said.count("50.0") == 3 * len(columns)
            assert "another-long-name-...has-at-all" in re.sub(r"name-\S*\.\.\.\S*?has", "name-...has", said)


# Tables no wider than a terminal, with nothing lost

ROWS_OF_12 = st.lists(st.lists(st.integers(0, 99).map(str), min_size=12, max_size=12), min_size=1, max_size=3)


@given(ROWS_OF_12, st.integers(1, 2))
def test_a_wide_table_comes_in_parts(rows, left):
    """Each part repeats the left columns; the other columns appear once, in order."""
    header = [f"column {number}" for number in range(12)]
    parts = aligned(rows, header, left).split("\n\n")
    assert len(parts) > 1 and all(len(line) <= WIDEST for part in parts for line in part.splitlines())
    cells = [[line.split() for line in part.splitlines()[2:]] for part in parts]
    whole = [
        row[0][:left] + [cell for part in row for cell in part[left:]] for row in zip(*cells, strict=True)
    ]
    assert whole == rows


@needs("pope")
def test_formats_and_quiet_on_the_command_line(tmp_path, monkeypatch, capsys, ran, refused):
    monkeypatch.chdir(tmp_path)
    made(registry.benchmark("pope"), tmp_path)
    rows = registry.benchmark("pope").module("rows").load(["pope"])
    for name, said in (("a", "Yes."), ("b", "No.")):
        texts = [{"question_id": row.question_id, "sampling": row.sampling, "response": said} for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, texts)))
    words = "score pope --dataset pope --responses a.jsonl b.jsonl --limit 6"
    assert "are scored" in ran(words).err  # libraries that are imported here show bars the first time
    for style in FORMATS:
        quiet, loud = ran(words, "--format", style, "--quiet"), ran(words, "--format", style)
        assert quiet.out and quiet.err == ""
        assert loud.out == quiet.out and "are scored" in loud.err
        assert ("signature: pope|" in loud.err) == (style == CSV)
    assert "nowhere" in refused(f"--quiet {words} --dataset nowhere")
    said = refused(words, "--quiet", "--format", "github")
    assert "--format: got 'github'" in said and all(style in said for style in FORMATS)
