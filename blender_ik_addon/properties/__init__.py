"""The settings of chains, and their one way into frozen records."""

from .chains import active_chain, chain_key, chains_of, owner_of
from .records import chain_spec, sync_anchors, sync_anchors_if_changed
from .settings import NEGATIVE_SCALES, SOLVERS, ChainSettings, register, unregister
from .stored import check_free, is_off_its_keys, live_chains, release, store

__all__ = [
    "NEGATIVE_SCALES",
    "SOLVERS",
    "ChainSettings",
    "active_chain",
    "chain_key",
    "chain_spec",
    "chains_of",
    "check_free",
    "is_off_its_keys",
    "live_chains",
    "owner_of",
    "register",
    "release",
    "store",
    "sync_anchors",
    "sync_anchors_if_changed",
    "unregister",
]
