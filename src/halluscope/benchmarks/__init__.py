"""One package ("room") per benchmark. `halluscope.registry` finds them; CONTRIBUTING.md says what each must hold."""
