"""Refuses pickles: reading one may run code that its maker put there, so none is ever loaded."""

from typing import NoReturn

from halluscope.errors import BuildError

# How the names of files end that are pickles, or hold some (joblib, PyTorch, NumPy's arrays of objects)
ENDINGS = (".pkl", ".pickle", ".p", ".joblib", ".pt", ".pth", ".npy", ".npz")

# A pickle begins with this byte and the number of its protocol, from 2 on
FIRST = 0x80
PROTOCOLS = (2, 3, 4, 5)


def is_named_so(name: str) -> bool:
    """Whether a file's name says that it is a pickle, packed by gzip or not."""
    return name.lower().removesuffix(".gz").endswith(ENDINGS)


def begins(content: bytes) -> bool:
    """Whether some bytes begin as a pickle does."""
    return len(content) > 1 and content[0] == FIRST and content[1] in PROTOCOLS


def refuse(where: str) -> NoReturn:
    """Refuse a pickle, and say how its owner makes a file of it that can be read."""
    raise BuildError(
        f"{where} is a pickle or a file like it, which can run code when it is loaded; expected JSON lines, JSON, csv, "
        "tsv, Parquet or xlsx. If you trust who made it, convert it in Python: "
        "`import json, pickle; json.dump(pickle.load(open('FILE.pkl', 'rb')), open('FILE.json', 'w'))`; or, for a "
        "table of pandas, `pandas.read_pickle('FILE.pkl').to_csv('FILE.csv', index=False)`. Then give that file."
    )
