"""FlyDSL sources of the kernels; imported at build time only."""

from .source import KERNARG, KernelSource, build_variant

__all__ = ["KERNARG", "KernelSource", "build_variant"]
