"""The registration calls that compiled HIP programs make, played by hand: a fat binary, a stub, a launch by the stub's address."""

import ctypes
import struct

import pytest

from tests.emulator.api.ctypes_hip import HOST_TO_DEVICE, Dim3
from tests.emulator.api.test_modules import bundle


@pytest.fixture
def program(hip, image):
    fat = ctypes.create_string_buffer(bundle([(b"hipv4-amdgcn-amd-amdhsa--gfx950", image)]))
    wrapper = ctypes.create_string_buffer(struct.pack("<IIQQ", 0x48495046, 1, ctypes.addressof(fat), 0))
    register = hip.library.__getattr__("__hipRegisterFatBinary")
    register.restype = ctypes.c_void_p
    handle = register(wrapper)
    stub, variable = ctypes.create_string_buffer(1), ctypes.create_string_buffer(4)
    hip.code(
        "__hipRegisterFunction", handle, stub, b"store", ctypes.c_char_p(b"store"), -1, None, None, None, None, None
    )
    hip.code("__hipRegisterVar", handle, variable, None, ctypes.c_char_p(b"counter"), 0, 4, 0, 0)
    yield handle, ctypes.addressof(stub), ctypes.addressof(variable), (fat, wrapper)
    hip.code("__hipUnregisterFatBinary", handle)


def test_launch_by_address(hip, program):
    pointer = hip.malloc(4)
    values = ctypes.c_uint64(pointer), ctypes.c_uint32(31)
    arguments = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    hip.ok("hipLaunchKernel", program[1], Dim3(1, 1, 1), Dim3(64, 1, 1), arguments, 0, 0)
    assert hip.read_u32(pointer) == 31
    assert hip.get("hipGetFuncBySymbol", program[1]) != 0


def test_device_variable(hip, program):
    assert hip.get("hipGetSymbolSize", program[2], of=ctypes.c_size_t) == 4
    hip.ok("hipMemcpyToSymbol", program[2], ctypes.create_string_buffer(struct.pack("<I", 12), 4), 4, 0, HOST_TO_DEVICE)
    assert hip.read_u32(hip.get("hipGetSymbolAddress", program[2])) == 12
    assert hip.error("hipMemcpyToSymbol", program[2], ctypes.create_string_buffer(8), 8, 0, HOST_TO_DEVICE)[1] == (
        "8 bytes at offset 0 leave the variable's 4"
    )


def test_what_nobody_registered(hip):
    assert hip.error("hipLaunchKernel", 0x5550, Dim3(1, 1, 1), Dim3(64, 1, 1), None, 0, 0) == (
        "hipErrorInvalidHandle",
        "0x5550 is not a function",
    )
    assert hip.error("hipGetSymbolSize", ctypes.byref(ctypes.c_size_t()), 0x5550) == (
        "hipErrorInvalidSymbol",
        "0x5550 is no registered device variable",
    )
