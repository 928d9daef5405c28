"""Constraints and drivers that tie objects, bones and settings to others."""

import bpy


def constrain(owner: bpy.types.bpy_struct, kind: str, **settings: object) -> bpy.types.Constraint:
    """Add a constraint to an object or pose bone."""
    constraint = owner.constraints.new(kind)
    for name, value in settings.items():
        setattr(constraint, name, value)
    return constraint


def drive(
    owner: bpy.types.bpy_struct,
    path: str,
    source: bpy.types.Object,
    channel: str,
    *,
    bone: str = "",
    index: int = -1,
    expression: str = "",
    space: str = "LOCAL_SPACE",
) -> bpy.types.FCurve:
    """Let a channel of an object or of one of its bones drive a property.

    The expression names the channel ``value``. Without one the driver needs no Python.
    """
    curve = owner.driver_add(path, index)
    variable = curve.driver.variables.new()
    variable.name, variable.type = "value", "TRANSFORMS"
    (target,) = variable.targets
    target.id, target.bone_target, target.transform_type = source, bone, channel
    target.transform_space = space
    curve.driver.type, curve.driver.expression = "SCRIPTED" if expression else "SUM", expression
    return curve
