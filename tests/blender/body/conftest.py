"""The rig of the tests of whole bodies."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.body.human_bodies import make_human


@pytest.fixture
def human(rigify: None) -> bpy.types.Object:
    return make_human()
