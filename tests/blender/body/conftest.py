"""The rigs of the tests of whole bodies."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.body.human_bodies import make_body, make_human
from tests.blender.setups.saved_rigs import opened


@pytest.fixture
def human(rigify: None) -> bpy.types.Object:
    return opened(make_human)


@pytest.fixture
def body(rigify: None) -> bpy.types.Object:
    """The human as a whole body with both feet pinned."""
    return opened(make_body)
