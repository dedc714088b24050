"""Finds the sheet of a workbook that holds the rows, whatever sheet was open when the workbook was saved."""

from collections.abc import Callable, Sequence
from typing import Any

from halluscope.errors import BuildError
from halluscope.sanitize import one_line, short_repr

# Whether columns with these names may hold what is looked for
Holds = Callable[[Sequence[str]], bool]


def sheet_of(workbook: Any, where: str, name: str | None, holds: Holds | None) -> Any:
    """Return the sheet that `name` names, or else the only one with rows and with columns that hold what is sought.

    Without `holds`, the sheet is the only one with rows.

    Raises:
        BuildError: if no sheet has this name, or if several sheets could be meant.
    """
    sheets = workbook.worksheets
    for sheet in sheets:
        sheet.reset_dimensions()  # the size that the file states may be too small
    if name is not None:
        return _named(sheets, where, name)
    filled = [sheet for sheet in sheets if _has_rows(sheet)]
    if not filled:
        return workbook.active
    if len(filled) == 1:
        return filled[0]
    if holds is None:
        raise BuildError(
            f"{where} has rows in {len(filled)} sheets: {_names(filled)}; expected them in one. Delete the others, or "
            "save that sheet as csv."
        )
    fitting = [sheet for sheet in filled if holds(header_of(sheet))]
    if len(fitting) == 1:
        return fitting[0]
    candidates = fitting
    content = "responses"
    if not fitting:
        candidates = filled
        content = "rows, but no column that is named like one of responses"
    title = short_repr(candidates[0].title)
    raise BuildError(
        f"{where} has {len(candidates)} sheets with {content}: {_names(candidates)}; expected one. Name it: "
        f"--sheet {title} (sheet={title})."
    )


def header_of(sheet: Any) -> list[str]:
    """Return the names of a sheet's columns, which its first row holds; "" for an empty cell."""
    names = []
    for cell in next(sheet.iter_rows(max_row=1, values_only=True), ()):
        name = ""
        if cell is not None:
            name = str(cell)
        names.append(name)
    return names


def _named(sheets: Sequence[Any], where: str, name: str) -> Any:
    for sheet in sheets:
        if sheet.title == name:
            return sheet
    raise BuildError(f"{where} has no sheet {short_repr(name)}; expected one of {_names(sheets)}.")


def _has_rows(sheet: Any) -> bool:
    """Whether a sheet has a row below its header."""
    rows = sheet.iter_rows(min_row=2, values_only=True)
    return any(set(row) - {None} for row in rows)


def _names(sheets: Sequence[Any]) -> str:
    titles = [one_line(sheet.title, 40) for sheet in sheets]
    return ", ".join(repr(title) for title in titles)
