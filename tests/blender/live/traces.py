"""Everything that an extension can hang into Blender, as names. Imports nothing of ours.

Blender lists handlers, classes, menus and keymaps. What it does not list, it holds as Python
objects that Python's collector knows: what it is to call for drawing, for the message bus, at a
timer. Those are asked for their `type`: `isinstance` also reads their `__class__`, and an operator
of an add-on that was disabled raises when it is read.
"""

import gc
import logging
import types
from collections import Counter
from collections.abc import Iterator

import bpy

KINDS_IN_USE = ("handlers", "classes", "properties")
"""What there is of in any case: a listing without them sees nothing."""


def list_traces() -> dict[str, list[str]]:
    """Return everything that hangs in Blender, by kind: who is called, and where from."""
    named = {name: getattr(bpy.types, name) for name in dir(bpy.types)}
    known = {name: each for name, each in named.items() if isinstance(each, type)}
    found = {
        "handlers": _handlers(),
        "timers": _timers(),
        "classes": _classes(),
        "properties": _properties(known),
        "drawn into": _drawn_into(known),
        "draw callbacks": _draw_callbacks(),
        "messages": _messages(),
        "keymaps": _keymaps(),
        "manual": (_named(function) for function in bpy.utils._manual_map),
        "logs": _logs(),
        "presets": map(str, bpy.utils._preset_path_registry),
    }
    return {kind: sorted(names) for kind, names in found.items()}


def left_behind(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return what hangs in Blender now and did not before, also a second one of the same name."""
    left = {
        kind: sorted((Counter(after[kind]) - Counter(before[kind])).elements()) for kind in after
    }
    return {kind: names for kind, names in left.items() if names}


def has_translations(name: str) -> bool:
    """Tell whether somebody has registered translations under a name: Blender lists none."""
    try:
        bpy.app.translations.register(name, {})
    except ValueError:
        return True
    bpy.app.translations.unregister(name)
    return False


def _named(function: object) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"


def _handlers() -> Iterator[str]:
    for name in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, name)
        if isinstance(functions, list):
            yield from (f"{name}: {_named(function)}" for function in functions)


def _timers() -> Iterator[str]:
    for each in gc.get_objects():
        if type(each) is types.FunctionType and bpy.app.timers.is_registered(each):
            yield _named(each)


def _classes() -> Iterator[str]:
    """Yield those that scripts have registered; `dir(bpy.types)` knows no property groups.

    Those of `bpy.types` itself Blender makes when it needs them.
    """
    below = [bpy.types.bpy_struct]
    while below:
        each = below.pop()
        below += each.__subclasses__()
        if "bl_rna" in vars(each) and each.__module__ != "bpy.types":
            yield _named(each)


def _properties(known: dict[str, type]) -> Iterator[str]:
    for name, each in known.items():
        own = getattr(each, "bl_rna", None)
        if own is not None and "__annotations__" not in vars(each):
            yield from (f"{name}.{prop.identifier}" for prop in own.properties if prop.is_runtime)


def _drawn_into(known: dict[str, type]) -> Iterator[str]:
    """Yield the functions that were appended to menus, panels and headers."""
    for name, each in known.items():
        for function in getattr(getattr(each, "draw", None), "_draw_funcs", ()):
            if function.__qualname__ != f"{name}.draw":
                # Not Blender's own, which is listed as well once something was appended.
                yield f"{name}: {_named(function)}"


def _draw_callbacks() -> Iterator[str]:
    """Yield what `Space.draw_handler_add` was given: Blender keeps its arguments in one tuple."""
    for each in gc.get_objects():
        if type(each) is tuple and len(each) >= 5 and issubclass(type(each[0]), type):
            if issubclass(each[0], bpy.types.Space) and callable(each[1]):
                yield f"{each[0].__name__} {each[3]} {each[4]}: {_named(each[1])}"


def _messages() -> Iterator[str]:
    """Yield what `msgbus.subscribe_rna` was given: a tuple of its arguments and the function."""
    for each in gc.get_objects():
        if type(each) is tuple and len(each) == 2 and type(each[0]) is tuple:
            if type(each[1]) is types.FunctionType:
                yield _named(each[1])


def _logs() -> Iterator[str]:
    """Yield where loggers write to."""
    for name, logger in logging.Logger.manager.loggerDict.items():
        for handler in getattr(logger, "handlers", ()):
            yield f"{name}: {type(handler).__name__}"


def _keymaps() -> Iterator[str]:
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    for keymap in keyconfig.keymaps if keyconfig else ():
        yield from (f"{keymap.name}: {item.idname}" for item in keymap.keymap_items)
