"""Defines builders."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from halluscope.building.output import Order
from halluscope.building.spec import Spec, load
from halluscope.errors import BuildError, HalluscopeError
from halluscope.options import Option, check


@dataclass(frozen=True)
class Builder:
    """A builder of a dataset."""

    name: str  # the dataset's
    about: str  # what it builds and from what, with examples
    source: str  # the help of --source, which says which upstream files are meant
    # takes an `Order` and the builder's own options, and returns the dataset's folder
    make: Callable[..., Path]
    images: str = ""  # the help of --images; "" for a builder that stores no images of its own
    options: tuple[Option, ...] = ()  # the builder's own

    def build(
        self,
        source: Path | None = None,
        images: Path | None = None,
        out: Path | None = None,
        *,
        spec: Spec | None = None,
        **options: Any,
    ) -> Path:
        """Build the dataset, and return its folder. Everything is checked before anything is written.

        `options` are the other fields of `Order`, and the builder's own options.
        """
        if images is not None and not options.get("with_images", True):
            raise BuildError(f"--images {images} and --no-images are given; expected one of them.")
        shared = {field.name: options.pop(field.name) for field in fields(Order) if field.name in options}
        known = [field.name for field in fields(Order)] + [option.name for option in self.options]
        check(options, known, f"The builder of {self.name}")
        try:
            return self.make(Order(spec or load(self.name), source, images, out, **shared), **options)
        except HalluscopeError:
            raise
        except ValueError as error:  # of a bad row
            raise BuildError(str(error)) from error
