"""The one place that holds the version; packaging and the manifest read it."""

__version__ = "0.1.0"
