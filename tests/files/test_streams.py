"""Large JSON files give the same result read entry by entry as read whole, wherever the pieces end."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halluscope.errors import BuildError
from halluscope.files import opening
from halluscope.files.opening import entries

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def file_of(folder: Path, text: str) -> Path:
    file = folder / "some.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(VALUES, max_size=6),
    size=st.integers(1, 40),
    indent=st.sampled_from([None, 0, 3]),
    ascii_only=st.booleans(),
)
def test_a_list_is_read_entry_by_entry(
    values: list[Any], size: int, indent: int | None, ascii_only: bool, tmp_path: Path
) -> None:
    file = file_of(tmp_path, json.dumps(values, indent=indent, ensure_ascii=ascii_only))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "CHUNK", size)
        assert list(entries(file)) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with ''; expected a JSON list"),
        ('{"a": 1}', "begins with '{\"a\": 1}'; expected a JSON list"),
        ('[{"a": 1}', "cut off: expecting ',' at character 10"),
        ('[{"a": "b', "cut off: Unterminated string starting at at character 8"),
        ("[1, 2,]", "Expecting value at character 7"),
        ("[1 2]", "expecting ',' at character 4; got '2]'"),
        ('["\ud800"]', "not in UTF-8"),
        ("[1] [2]", "there is text after its end at character 5"),
        ('[{"a": 1, "a": 2}]', "'a' occurs twice in one object"),
        ('[{"a": 1, "a": 2}]', "rename one, or leave it out"),
        ("[" + "[" * 100_000, "recursion"),
    ],
)
def test_what_is_no_list(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError) as refused:
        list(entries(file_of(tmp_path, text)))
    assert message in str(refused.value)
