"""Messages in the console, with a logger for each file and one handler for all of them."""

from __future__ import annotations

import logging
from typing import Final

LEVELS: Final = (
    ("DEBUG", "Everything", "All messages, also the time of each update"),
    (
        "INFO",
        "Information",
        "Problems, chains that cannot be solved, and files that were converted to the present"
        " format",
    ),
    ("WARNING", "Warnings", "Problems and errors"),
    ("ERROR", "Errors", "Only errors"),
)
_LOGGER: Final = logging.getLogger(__package__.rpartition(".")[0])
_NAME: Final = "chain_ik"


def set_level(level: str) -> None:
    """Write messages of a level and above."""
    _LOGGER.setLevel(level)


def register() -> None:
    """Add the handler that writes to the console."""
    handler = logging.StreamHandler()
    handler.set_name(_NAME)
    handler.setFormatter(logging.Formatter("Chain IK %(levelname)s: %(message)s"))
    _LOGGER.addHandler(handler)


def unregister() -> None:
    """Remove the handler."""
    for handler in [known for known in _LOGGER.handlers if known.get_name() == _NAME]:
        _LOGGER.removeHandler(handler)
    _LOGGER.setLevel(logging.NOTSET)
