"""HumbleBench's results, as printed, in percent.

The three settings are those of the authors' results: "common"; "noise", there "noise_image" (the same questions about
images of noise); and "e-only", there "nota_only" (the questions without their right choice).
"""

from pathlib import Path

from halluscope.reporting.published_table import PublishedTable

FOLDER = Path(__file__).parent / "published"

TABLES = (
    PublishedTable(
        file=FOLDER / "humblebench.csv",
        source="Tong et al., the logs in the authors' repository (results/ @ 0a34e68)",
        url="https://github.com/maifoundations/HumbleBench/tree/0a34e68/results",
        facts=("setting",),
        chosen_by=("setting",),
    ),
)
