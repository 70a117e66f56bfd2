"""The version, of the package and of the wheel."""

__version__ = "0.1.0"
