"""Finds out in one short attempt whether the Hub can be reached: libraries that retry take minutes."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

# The seconds that the one attempt may take
PATIENCE_S = 5.0

USUAL_PORTS = {"http": 80, "https": 443}


@contextmanager
def hub_or_cache() -> Iterator[bool]:
    """Let libraries ask the Hub if it can be reached, and otherwise only read its cache; yield whether they may ask.

    With a proxy, or if the user has set HF_HUB_OFFLINE, nothing is tried and nothing is changed.
    """
    from urllib.request import getproxies  # imports ssl, which scoring does without

    import datasets
    from huggingface_hub import constants

    proxies = getproxies()
    has_proxy = "https" in proxies or "all" in proxies
    if constants.HF_HUB_OFFLINE or has_proxy or _answers():
        yield True
        return
    hub_before = constants.HF_HUB_OFFLINE
    datasets_before = datasets.config.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    datasets.config.HF_HUB_OFFLINE = True
    try:
        yield False
    finally:
        constants.HF_HUB_OFFLINE = hub_before
        datasets.config.HF_HUB_OFFLINE = datasets_before


def _answers() -> bool:
    """Whether the Hub's host takes a connection."""
    import socket

    from huggingface_hub import constants

    try:
        endpoint = urlsplit(constants.ENDPOINT)
        port = endpoint.port or USUAL_PORTS.get(endpoint.scheme, 80)
        socket.create_connection((endpoint.hostname or "", port), PATIENCE_S).close()
    except (OSError, ValueError):  # ValueError: it is not an address
        return False
    return True
