"""Count what there is to read: tokens of code, words of docstrings, and files, by package.

    python perf/size.py [FOLDER ...]

Comments, blank lines and formatting do not count. By default, the folders are the packages in src/halluscope.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
NO_CODE |= {tokenize.ENCODING, tokenize.ENDMARKER}
ROOT = Path(__file__).parent.parent / "src" / "halluscope"


def size(folder: Path) -> tuple[int, int, int]:
    """Return tokens of code, words of docstrings, and files of a folder of Python files."""
    tokens = words = files = 0
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        docstrings = {
            (node.lineno, node.col_offset): len(node.value.value.split())
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        }
        read = tokenize.generate_tokens(io.StringIO(text).readline)
        tokens += sum(token.type not in NO_CODE and token.start not in docstrings for token in read)
        words += sum(docstrings.values())
        files += 1
    return tokens, words, files


def main() -> None:
    """Print the table."""
    folders = [Path(name) for name in sys.argv[1:]] or [
        ROOT,
        *sorted(each for each in ROOT.iterdir() if (each / "__init__.py").is_file()),
    ]
    print(f"{'tokens':>8} {'words':>7} {'files':>6}")
    for folder in folders:
        tokens, words, files = size(folder)
        print(f"{tokens:8,} {words:7,} {files:6,}  {folder.name}")


if __name__ == "__main__":
    main()
