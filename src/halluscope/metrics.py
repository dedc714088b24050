"""Raises an error that says where the metrics are: each benchmark has a package of its own now."""

raise ImportError(
    "halluscope.metrics.NAME is now halluscope.benchmarks.NAME.metric (halluscope.metrics.throne is "
    "halluscope.benchmarks.throne.metric). Without such an import, call halluscope.score(NAME, responses, dataset), or "
    "evaluate.load('metrics/NAME')."
)
