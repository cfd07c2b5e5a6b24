"""Prebuilt paged FP8 attention prefill for AMD gfx950: find a variant, check the arguments, launch it.

docs/api.md describes every function. Importing this package loads neither hip-python nor torch, and opens no device.
"""

from . import layouts
from .checking import set_checking
from .device_array import DeviceArray
from .errors import ArtifactError, HipError, ManifestError, PagedAttnError, VariantNotFoundError
from .plan import PagedPrefillPlan
from .prefill import paged_prefill
from .support import device_description, is_supported, warmup
from .tensors import register_operators
from .variant import Variant
from .version import __version__

__all__ = [
    "ArtifactError",
    "DeviceArray",
    "HipError",
    "ManifestError",
    "PagedAttnError",
    "PagedPrefillPlan",
    "VariantNotFoundError",
    "Variant",
    "__version__",
    "device_description",
    "is_supported",
    "layouts",
    "paged_prefill",
    "set_checking",
    "warmup",
]

register_operators()
