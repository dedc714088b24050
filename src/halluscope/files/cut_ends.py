"""What becomes of a file's end if its writer was killed: of a last line, or a last entry, that is not whole."""

import json
from dataclasses import dataclass, field

from halluscope.errors import BuildError
from halluscope.sanitize import short_repr

# The words and signs of JSON that a cut may go through
WORDS = ("true", "false", "null", "NaN", "-Infinity", "-0")

# How long the rest of an escape is that is not whole, such as the u12 of \\u1234
HALF_ESCAPE = 4

_DECODER = json.JSONDecoder()


@dataclass
class CutEnds:
    """Whether the cut ends of files may be left out, and those that were."""

    allowed: bool
    places: list[str] = field(default_factory=list)  # where each cut end stood

    def leave_out(self, where: str, fragment: str, cause: Exception, form: str = "JSON") -> None:
        """Leave out a cut end that stands there, or refuse the file; `form` is what whole rows are.

        Raises:
            BuildError: if cut ends may not be left out.
        """
        if self.allowed:
            self.places.append(where)
            return
        raise BuildError(
            f"{where} is not {form}, or is cut off: its end is {short_repr(fragment.strip()[-80:])}. It is the last, "
            "and a run that was killed leaves such an end. Finish the run, or pass --partial (partial=True) to leave "
            "this end out and score the rest."
        ) from cause


def is_cut_off(fragment: str) -> bool:
    """Whether a text is the beginning of a value of JSON whose end is missing.

    >>> is_cut_off('{"id": 7, "response": "A do'), is_cut_off('{"id": 7}'), is_cut_off('{"id": 7 "response": "A dog."}')
    (True, False, False)
    """
    text = fragment.strip()
    if not text.startswith(("{", "[", '"')):
        return False
    try:
        _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        if error.msg.startswith("Unterminated string"):
            return True
        if "escape" in error.msg:
            return len(rest) <= HALF_ESCAPE
        return rest == "" or any(word.startswith(rest) for word in WORDS)
    except (ValueError, RecursionError):
        return False
    return False
