"""Puts a figure's drawing into a page, whose policy allows no styles and no scripts in it."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from markupsafe import Markup

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "title", "defs", "g", "path", "use", "text", "clipPath", "rect"}  # what a drawing may hold


def drawing(svg: str) -> Markup:
    """Return a drawing for a page: known elements only, with attributes for styles."""
    root = ElementTree.fromstring(svg.encode("utf-8", "replace"))
    _remove_unknown(root)
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        element.attrib = _attributes(element)
    root.set("stroke-linejoin", "round")
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _remove_unknown(root: Element) -> None:
    for above in list(root.iter()):
        for element in list(above):
            is_style = element.tag == f"{SVG}defs" and element.find(f"{SVG}style") is not None
            if is_style or element.tag.removeprefix(SVG) not in DRAWN:
                above.remove(element)


def _attributes(element: Element) -> dict[str, str]:
    """Return an element's attributes, with what its style says as attributes too, and without scripts and links."""
    attributes = {}
    for name, value in element.attrib.items():
        attributes[name.rpartition("}")[2]] = value
    style = attributes.pop("style", "")
    attributes.update(re.findall(r"([\w-]+): *([^;]+)", style))
    if element.tag == "g":
        attributes.pop("id", None)  # the same in all drawings
    allowed = {}
    for name, value in attributes.items():
        is_script = name.startswith("on")
        leads_out = name == "href" and not value.startswith("#")
        if not is_script and not leads_out:
            allowed[name] = value
    return allowed
