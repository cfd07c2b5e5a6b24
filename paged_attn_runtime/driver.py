"""HIP, through hip-python: the one module that imports it, and the one funnel for its results.

Owns: opening hip-python (at the first use of a device, never at import), the choice of the HIP runtime when the
process already has one, the refusal of a second one, and the state of a forked child. Refuses, as a HipError, before
any HIP call: a process forked after HIP was in use here, two HIP runtimes, no hip-python. hip-python 7.2 and 10.0
differ in where they find libamdhip64 and in a few signatures; nothing outside this file knows.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import threading
from typing import Any

from .errors import HipError

_RUNTIME_FILE = re.compile(r"libamdhip64[^/]*\.so[^/]*")
# A kernel of this process read or wrote where it must not; HIP says so at whatever call comes next.
_FAULTS = ("hipErrorIllegalAddress", "hipErrorLaunchFailure")
GARBAGE_HINT = (
    ". A kernel that was launched earlier failed; if it was one of this package, PAGED_ATTN_CHECK=1 finds wrong "
    "lengths, page ids and pointers before they are launched"
)
_INSTALL = 'pip install "hip-python" (10.0), or "hip-python==7.2.*" on a ROCm 7.2 node'

_lock = threading.RLock()
_instance: Driver | None = None
_forked = False


def _after_fork_in_child() -> None:
    global _forked, _lock
    _forked = _forked or _instance is not None
    _lock = threading.RLock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def driver() -> Driver:
    """The process's driver, opened at the first call."""
    if _forked:
        raise HipError(
            "ForkedProcess",
            "this process was forked after HIP was in use, and HIP does not survive a fork. Start workers with the "
            "'spawn' method (multiprocessing.set_start_method('spawn')), or fork before the first use of a device",
        )
    return _instance if _instance is not None else _open()


def is_open() -> bool:
    """Whether HIP is in use by this package in this process. Makes no HIP call."""
    return _instance is not None and not _forked


def loaded_runtimes() -> list[str]:
    """The files of the HIP runtimes mapped into this process, sorted. Makes no HIP call."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if "libamdhip64" in line}
    except OSError:  # no /proc: nothing can be said
        return []
    paths = {path.removesuffix(" (deleted)") for path in paths}
    return sorted(path for path in paths if _RUNTIME_FILE.fullmatch(os.path.basename(path)))


def is_emulator() -> bool:
    """Whether the HIP runtime of this process is this project's emulator: for people to read, never to branch on."""
    return any(
        hasattr(ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW), "gfx950_emu_version") for path in loaded_runtimes()
    )


def refuse_second_runtime() -> None:
    """Raise when two HIP runtimes are mapped: pointers and streams of one mean nothing to the other."""
    runtimes = loaded_runtimes()
    if len(runtimes) > 1:
        raise HipError(
            "TwoHipRuntimes",
            f"this process has loaded {' and '.join(runtimes)}; memory and streams of one mean nothing to the other. "
            "Make them one: import torch before the first use of this package, and let ROCM_PATH (hip-python 10.0) "
            "or LD_LIBRARY_PATH (7.2) name the ROCm that torch uses",
        )


def _open() -> Driver:
    global _instance
    with _lock:
        if _instance is None:
            torch = sys.modules.get("torch")
            in_bad_fork = getattr(getattr(torch, "cuda", None), "_is_in_bad_fork", None)
            if in_bad_fork is not None and in_bad_fork():
                raise HipError(
                    "ForkedProcess", "this process was forked after torch had used HIP; use the 'spawn' method"
                )
            refuse_second_runtime()
            hip = _import_hip()
            with _bound_to(loaded_runtimes()):
                _first_call(hip)
            refuse_second_runtime()
            _instance = Driver(hip)
        return _instance


def _import_hip() -> Any:
    try:
        from hip import hip
    except ImportError as error:
        raise HipError("HipUnavailable", f"hip-python cannot be imported ({error}); {_INSTALL}") from None
    return hip


def _first_call(hip: Any) -> None:
    try:
        result = hip.hipInit(0)
    except RuntimeError as error:  # the bindings' dlopen
        raise HipError(
            "HipUnavailable",
            f"hip-python cannot load the HIP runtime ({error}). Set ROCM_PATH to a ROCm installation (hip-python 10.0 "
            "looks in its lib/) or LD_LIBRARY_PATH to its lib/ (7.2)",
        ) from None
    if result[0]:
        raise HipError(
            result[0].name, "hipInit: no device can be used. `python -m paged_attn_runtime doctor` says what is there"
        )


@contextlib.contextmanager
def _bound_to(runtimes: list[str]):
    """While hip-python makes its first call, let it open the runtime that the process already has, if there is one."""
    if len(runtimes) != 1:
        yield
        return
    path = os.fsencode(runtimes[0])
    try:
        from rocm.bindings.util import paths
    except ImportError:
        from hip import chip  # 7.2 opens what this name holds

        chip.DLL = path
        yield
        return
    original = paths.get_library_path  # 10.0 asks this function at its first call

    def get_library_path(shortname: str, *args: Any, **kwargs: Any) -> bytes:
        return path if shortname == "amdhip64" else original(shortname, *args, **kwargs)

    paths.get_library_path = get_library_path
    try:
        yield
    finally:
        paths.get_library_path = original


class Driver:
    """hip-python's calls under this package's names.

    Methods raise HipError; the two raw functions are for the launch path.
    """

    def __init__(self, hip: Any) -> None:
        try:
            from rocm.bindings._hip_helpers import HipModuleLaunchKernel_extra
        except ImportError:
            from hip._hip_helpers import HipModuleLaunchKernel_extra
        self._hip = hip
        self._extra = HipModuleLaunchKernel_extra
        self.raw_launch = hip.hipModuleLaunchKernel
        self.raw_get_device = hip.hipGetDevice
        self.null_stream = hip.ihipStream_t(0)
        self.stream_type = hip.ihipStream_t
        self._architectures: dict[int, str] = {}
        # 7.2 has the caller bring a struct where 10.0 returns one; the docstring starts with the signature
        self._structs_are_arguments = "attributes" in (hip.hipPointerGetAttributes.__doc__ or "").split("\n", 1)[0]

    # -- the funnel -------------------------------------------------------------------------------------------------

    def call(self, name: str, *arguments: Any, said: object = "") -> Any:
        """A HIP call by its name; its payload as `check` gives it. `said` goes into an error's text beside the name."""
        return self.check(f"{name}({said})" if said != "" else name, self._raw(name, *arguments))

    def _raw(self, name: str, *arguments: Any) -> tuple:
        try:
            return getattr(self._hip, name)(*arguments)
        except RuntimeError as error:  # the bindings found no such symbol
            raise HipError(
                "HipUnavailable", f"this HIP runtime has no {name} ({error}); ROCm 7.0 or newer is needed"
            ) from None
        except ValueError as error:  # a result that the bindings have no name for
            raise HipError("UnknownError", f"{name}: {error}") from None

    def check(self, call: str, result: tuple) -> Any:
        """The payload of a result: None, one value, or a tuple."""
        error = result[0]
        if error:
            self.clear_error()
            hint = GARBAGE_HINT if error.name in _FAULTS else ""
            raise HipError(error.name, f"{call}: {self._explain(error)}{hint}")
        return result[1] if len(result) == 2 else (result[1:] or None)

    def _explain(self, error: Any) -> str:
        return _text(self._raw("hipGetErrorString", error)[1])

    def clear_error(self) -> None:
        """Take back HIP's per-thread last error, so that torch's own checks do not find ours."""
        self._raw("hipGetLastError")

    # -- devices ----------------------------------------------------------------------------------------------------

    def device_count(self) -> int:
        result = self._raw("hipGetDeviceCount")
        if result[0] and result[0].name == "hipErrorNoDevice":
            self.clear_error()
            return 0
        return self.check("hipGetDeviceCount", result)

    def current_device(self) -> int:
        return self.call("hipGetDevice")

    def set_device(self, device: int) -> None:
        self.call("hipSetDevice", device, said=device)

    @contextlib.contextmanager
    def device(self, device: int):
        """Make `device` current, and the caller's current again on every path."""
        before = self.current_device()
        if before == device:
            yield
            return
        self.set_device(device)
        try:
            yield
        finally:
            self.set_device(before)

    def architecture(self, device: int) -> str:
        """gcnArchName without its features: gfx950."""
        name = self._architectures.get(device)
        if name is None:
            name = self._architectures[device] = self.full_architecture(device).split(":", 1)[0]
        return name

    def full_architecture(self, device: int) -> str:
        """gcnArchName: gfx950:sramecc+:xnack-."""
        return _text(self.properties(device).gcnArchName)

    def device_name(self, device: int) -> str:
        return _text(self.properties(device).name)

    def properties(self, device: int) -> Any:
        if not self._structs_are_arguments:
            return self.call("hipGetDeviceProperties", device, said=device)
        properties = self._hip.hipDeviceProp_t()
        self.call("hipGetDeviceProperties", properties, device, said=device)
        return properties

    def runtime_version(self) -> int:
        return self.call("hipRuntimeGetVersion")

    # -- modules and launches ---------------------------------------------------------------------------------------

    def load_module(self, image: bytes, name: str) -> Any:
        return self.call("hipModuleLoadData", image, said=name)

    def module_function(self, module: Any, symbol: str) -> Any:
        return self.call("hipModuleGetFunction", module, symbol.encode(), said=symbol)

    def launch_extra(self, address: int) -> Any:
        """What hipModuleLaunchKernel takes as `extra` for an array at `address`.

        Made once for each buffer, since the bindings take 0.4 us to convert an int.
        """
        return self._extra.fromObj(address)

    # -- memory -----------------------------------------------------------------------------------------------------

    def pointer(self, address: int) -> tuple[int, int] | None:
        """(device, address on the device) of memory that HIP knows, -1 as the device of host memory; None for all
        other.
        """
        if self._structs_are_arguments:
            attributes = self._hip.hipPointerAttribute_t()
            result = self._raw("hipPointerGetAttributes", attributes, address)
        else:
            result = self._raw("hipPointerGetAttributes", address)
            attributes = result[1]
        if result[0]:
            self.clear_error()
            return None
        kind = int(attributes.type)
        kinds = self._hip.hipMemoryType
        if kind == kinds.hipMemoryTypeUnregistered:
            return None
        device = attributes.device if kind == kinds.hipMemoryTypeDevice else -1
        return device, int(attributes.devicePointer)

    def allocate(self, size: int) -> int:
        return int(self.call("hipMalloc", size, said=f"{size} bytes"))

    def free(self, address: int) -> None:
        self.call("hipFree", address)

    def copy(self, destination: Any, source: Any, size: int) -> None:
        """A copy in any direction, in the order of the null stream, finished at return."""
        self.call(
            "hipMemcpy", destination, source, size, self._hip.hipMemcpyKind.hipMemcpyDefault, said=f"{size} bytes"
        )

    def fill32(self, address: int, value: int, count: int, stream: Any) -> None:
        signed = value - (1 << 32) if value >> 31 else value
        self.call("hipMemsetD32Async", address, signed, count, stream)

    def fill8(self, address: int, value: int, count: int, stream: Any) -> None:
        self.call("hipMemsetD8Async", address, value, count, stream)

    # -- streams ----------------------------------------------------------------------------------------------------

    def is_capturing(self, stream: Any) -> bool:
        """Whether a stream is captured; the null stream is, while a stream that it would wait for is."""
        try:
            error, status = self._hip.hipStreamIsCapturing(stream)
        except ValueError:  # the status is not written when there is an error, and the bindings trip over what it holds
            error, status = self._hip.hipGetLastError()[0], None
        if error and error.name == "hipErrorStreamCaptureImplicit":
            self.clear_error()
            return True
        return int(self.check("hipStreamIsCapturing", (error, status))) == 1

    def synchronize(self, stream: Any) -> None:
        self.call("hipStreamSynchronize", stream)


def _text(value: Any) -> str:
    value = value if isinstance(value, (bytes, str)) else bytes(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
