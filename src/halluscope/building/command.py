"""Defines builders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from halluscope.building.output import Order
from halluscope.building.spec import Spec, load
from halluscope.errors import BuildError, HalluscopeError
from halluscope.options import Option, Rule, check, check_value
from halluscope.validation import flags

# The fields of `Order` that are about a column `image`, and --no-images
OF_IMAGES = ("images", "with_images", "no_images", "only_images_present")


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
        no_images: bool = False,
        **options: Any,
    ) -> Path:
        """Build the dataset, and return its folder. Everything is checked before anything is written.

        `options` are the other fields of `Order`, and the builder's own options.
        """
        self._check_names(options, images, no_images)
        for option in self.options:
            if options.get(option.name) is not None:
                check_value(option.name, options[option.name], Rule(option))
        flags(no_images=no_images)
        if no_images:
            options["with_images"] = False
        if images is not None and not options.get("with_images", True):
            raise BuildError(f"--images {images} and --no-images are given; expected one of them.")
        shared = {field.name: options.pop(field.name) for field in fields(Order) if field.name in options}
        flags(**{name: value for name, value in shared.items() if name != "cache"})
        try:
            return self.make(Order(spec or load(self.name), source, images, out, **shared), **options)
        except HalluscopeError:
            raise
        except ValueError as error:  # of a bad row
            raise BuildError(str(error)) from error

    def _check_names(self, options: Mapping[str, Any], images: Path | None, no_images: bool) -> None:
        """Check that the builder has each of these options; one that stores no images has none about them."""
        known = ["source", "out", "subset", "force", "cache"]
        known += [option.name for option in self.options]
        if self.images:
            known += OF_IMAGES
        names = list(options)
        if images is not None:
            names.append("images")
        if no_images:
            names.append("no_images")
        check(names, known, f"the builder of {self.name}")
