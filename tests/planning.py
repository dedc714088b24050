"""Plans what judges would be asked, as `halluscope plan` does."""

from contextlib import closing

from halluscope.judging.cache import Cache
from halluscope.judging.cost import VotePlan


def plan_of(compute, sets, store=None, prices=None, calibrate=0.0, **options):
    """Plan what a metric asks judges about sets of predictions and references."""
    with closing(Cache(store, "read")) as kept, closing(VotePlan(kept, prices, calibrate)) as noted:
        for predictions, references in sets:
            compute(predictions, references, **options | {"store": noted, "progress": False})
        return noted.plan()
