"""Object HalBench's scores, as printed: rates in the text of MiniCPM-V's page, 100 minus the rate in its table."""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

PRINTED_AS = "printed_as"

TABLES = (
    PublishedTable(
        file=FOLDER / "object_halbench.csv",
        source="README of MiniCPM-V, its table and its text",
        url="https://github.com/OpenBMB/MiniCPM-V/blob/01335523517538e464bd10914b4928ff8b36b4f2/README.md",
        facts=(PRINTED_AS,),
        sign=PRINTED_AS,
    ),
)
