"""Where the metrics were before each benchmark got a room of its own; importing this says where they are now."""

raise ImportError(
    "halluscope.metrics.NAME is halluscope.benchmarks.NAME.metric now (halluscope.metrics.throne is "
    "halluscope.benchmarks.throne.metric). Without imports of rooms: halluscope.score(NAME, responses, dataset), or "
    "evaluate.load('metrics/NAME')."
)
