"""Plans what judges would be asked, as `halluscope score --plan` does."""

from contextlib import closing

from halluscope.judging.cache import Cache
from halluscope.judging.planning import VotePlan


def plan_of(compute, sets, store=None, **options):
    """Plan what a metric asks judges about sets of predictions and references."""
    with closing(Cache(store, "read")) as kept, closing(VotePlan(kept)) as noted:
        for predictions, references in sets:
            compute(predictions, references, **options | {"store": noted, "progress": False})
        return noted.plan()
