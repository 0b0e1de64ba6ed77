"""The parts of the torture, a module each.

A module says in the first line of its text what it attacks, and has `run(context)`, which yields rows.
"""

import importlib
import pkgutil

NAMES = sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name):
    return importlib.import_module(f"{__name__}.{name}")
