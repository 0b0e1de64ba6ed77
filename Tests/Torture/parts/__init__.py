"""The parts of the torture tests, one module each.

The first line of a module's docstring names what it attacks. Its function `run(context)` yields rows.
"""

import importlib
import pkgutil

NAMES = sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name):
    return importlib.import_module(f"{__name__}.{name}")
