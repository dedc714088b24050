"""One room per benchmark. `halluscope.registry` finds them; what a room must hold stands in CONTRIBUTING.md."""
