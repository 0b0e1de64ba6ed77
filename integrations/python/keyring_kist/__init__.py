"""A backend of Python's keyring that keeps passwords with kistd."""

from .backend import KistKeyring

__all__ = ["KistKeyring"]
