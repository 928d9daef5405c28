"""Names of everything that an extension can register in Blender; imports nothing of the package.

Blender lists handlers, classes, menus and keymaps. It does not list callbacks for drawing, the
message bus and timers: the garbage collector finds these Python objects. They are checked by
`type`, as `isinstance` also reads `__class__`, and an operator of a disabled add-on raises then.
"""

import gc
import logging
import types
from collections import Counter
from collections.abc import Iterator

import bpy

KINDS_IN_USE = ("handlers", "classes", "properties", "drawn into", "draw callbacks", "presets")
"""Kinds that are never empty: a listing without them does not work."""


def list_traces() -> dict[str, list[str]]:
    """Return the names of everything that is registered in Blender, by kind."""
    named = {name: getattr(bpy.types, name) for name in dir(bpy.types)}
    classes = {name: item for name, item in named.items() if isinstance(item, type)}
    traces = {
        "handlers": _handlers(),
        "timers": _timers(),
        "classes": _classes(),
        "properties": _properties(classes),
        "drawn into": _drawn_into(classes),
        "draw callbacks": _draw_callbacks(),
        "messages": _messages(),
        "keymaps": _keymaps(),
        "manual": (_named(function) for function in bpy.utils._manual_map),
        "logs": _logs(),
        "presets": map(str, bpy.utils._preset_path_registry),
    }
    return {kind: sorted(names) for kind, names in traces.items()}


def find_added(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names that are new since `before`, by kind; a name may be new a second time."""
    surplus = {
        kind: sorted((Counter(after[kind]) - Counter(before[kind])).elements()) for kind in after
    }
    return {kind: names for kind, names in surplus.items() if names}


def has_translations(name: str) -> bool:
    """Tell whether translations are registered under a name; Blender does not list them."""
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
    for item in gc.get_objects():
        if type(item) is types.FunctionType and bpy.app.timers.is_registered(item):
            yield _named(item)


def _classes() -> Iterator[str]:
    """Yield the classes that scripts have registered; `dir(bpy.types)` has no property groups.

    Classes of `bpy.types` itself are left out: Blender makes them when it needs them.
    """
    pending = [bpy.types.bpy_struct]
    while pending:
        cls = pending.pop()
        pending += cls.__subclasses__()
        if "bl_rna" in vars(cls) and cls.__module__ != "bpy.types":
            yield _named(cls)


def _properties(classes: dict[str, type]) -> Iterator[str]:
    for name, cls in classes.items():
        rna = getattr(cls, "bl_rna", None)
        if rna is not None and "__annotations__" not in vars(cls):
            yield from (f"{name}.{prop.identifier}" for prop in rna.properties if prop.is_runtime)


def _drawn_into(classes: dict[str, type]) -> Iterator[str]:
    """Yield the functions that were appended to menus, panels and headers."""
    for name, cls in classes.items():
        for function in getattr(getattr(cls, "draw", None), "_draw_funcs", ()):
            if function.__qualname__ != f"{name}.draw":
                # Once something is appended, Blender lists its native function too: skip that.
                yield f"{name}: {_named(function)}"


def _draw_callbacks() -> Iterator[str]:
    """Yield the callbacks of `Space.draw_handler_add`: Blender keeps its arguments in one tuple."""
    for item in gc.get_objects():
        if type(item) is tuple and len(item) >= 5 and issubclass(type(item[0]), type):
            if issubclass(item[0], bpy.types.Space) and callable(item[1]):
                yield f"{item[0].__name__} {item[3]} {item[4]}: {_named(item[1])}"


def _messages() -> Iterator[str]:
    """Yield the callbacks of `msgbus.subscribe_rna`: tuples of its arguments and the function."""
    for item in gc.get_objects():
        if type(item) is tuple and len(item) == 2 and type(item[0]) is tuple:
            if type(item[1]) is types.FunctionType:
                yield _named(item[1])


def _logs() -> Iterator[str]:
    """Yield the handlers of all loggers."""
    for name, logger in logging.Logger.manager.loggerDict.items():
        for handler in getattr(logger, "handlers", ()):
            yield f"{name}: {type(handler).__name__}"


def _keymaps() -> Iterator[str]:
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    for keymap in keyconfig.keymaps if keyconfig else ():
        yield from (f"{keymap.name}: {item.idname}" for item in keymap.keymap_items)
