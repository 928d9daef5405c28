"""The settings of chains, and their one way into frozen records."""

from .chains import active_chain, chain_key, chains_of, owner_of
from .records import chain_spec, sync_anchors
from .settings import NEGATIVE_SCALES, SOLVERS, ChainSettings, register, unregister
from .stored import SOURCE, check_free, is_off_its_keys, release, store

__all__ = [
    "NEGATIVE_SCALES",
    "SOLVERS",
    "SOURCE",
    "ChainSettings",
    "active_chain",
    "chain_key",
    "chain_spec",
    "chains_of",
    "check_free",
    "is_off_its_keys",
    "owner_of",
    "register",
    "release",
    "store",
    "sync_anchors",
    "unregister",
]
