"""hipMemcpy and hipMemset in their forms: what they move, and what they refuse."""

import ctypes

import pytest

from tests.emulator.api.ctypes_hip import DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE


@pytest.fixture
def device(hip):
    pointer = hip.upload(bytes(range(256)))
    yield pointer
    hip("hipFree", pointer)


def host(data):
    return ctypes.create_string_buffer(bytes(data), len(data))


def test_there_and_back(hip, device):
    assert hip.download(device, 256) == bytes(range(256))


def test_device_to_device(hip, device):
    other = hip.malloc(256)
    hip.ok("hipMemcpy", other, device + 16, 64, DEVICE_TO_DEVICE)
    assert hip.download(other, 64) == bytes(range(16, 80))


def test_default_kind(hip, device):
    buffer = host(bytes(8))
    hip.ok("hipMemcpy", buffer, device, 8, DEFAULT)
    assert buffer.raw == bytes(range(8))


def test_driver_forms(hip, device):
    buffer = host(b"abcd")
    hip.ok("hipMemcpyHtoD", device, buffer, 4)
    hip.ok("hipMemcpyDtoD", device + 4, device, 4)
    hip.ok("hipMemcpyDtoHAsync", buffer, device + 4, 4, 0)
    assert buffer.raw == b"abcd"


def test_2d(hip):
    pointer = hip.malloc(1024)
    hip.ok("hipMemset", pointer, 0, 1024)
    hip.ok("hipMemcpy2D", pointer, 256, host(b"aabbcc"), 2, 2, 3, HOST_TO_DEVICE)
    assert [hip.download(pointer + 256 * i, 3) for i in range(3)] == [b"aa\0", b"bb\0", b"cc\0"]
    code, text = hip.error("hipMemcpy2D", pointer, 256, host(b"aabbcc"), 1, 2, 3, HOST_TO_DEVICE)
    assert (code, text) == ("hipErrorInvalidPitchValue", "the source has a pitch of 1 bytes for rows of 2")


@pytest.mark.parametrize(
    ("call", "value", "expected"),
    [
        ("hipMemset", 0x1FF, b"\xff" * 8),
        ("hipMemsetD8", 5, b"\5" * 8),
        ("hipMemsetD16", 0x102, b"\2\1" * 8),
        ("hipMemsetD32", 0x1020304, b"\4\3\2\1" * 8),
    ],
)
def test_fills(hip, device, call, value, expected):
    hip.ok(call, device, value, 8)
    assert hip.download(device, len(expected) + 1) == expected + bytes([len(expected)])


def test_fill_2d(hip, device):
    hip.ok("hipMemset2D", device, 16, 0, 4, 2)
    assert hip.download(device, 24) == b"\0\0\0\0" + bytes(range(4, 16)) + b"\0\0\0\0" + bytes(range(20, 24))


def test_past_the_end(hip, device):
    code, text = hip.error("hipMemcpy", device + 200, host(bytes(100)), 100, HOST_TO_DEVICE)
    assert code == "hipErrorInvalidValue"
    assert text == (
        f"the destination {device + 200:#x}: 100 bytes run 44 past the end of a device allocation of 256 bytes at {device:#x}"
    )
    assert hip.error("hipMemset", device, 0, 257)[0] == "hipErrorInvalidValue"


def test_a_host_pointer_where_the_device_is_meant(hip, device):
    buffer = host(bytes(8))
    address = ctypes.addressof(buffer)
    assert hip.error("hipMemcpy", address, device, 8, DEVICE_TO_DEVICE) == (
        "hipErrorInvalidValue",
        f"the destination {address:#x} is no device memory, as copy kind 3 demands",
    )


def test_freed_memory_on_the_host_side(hip, device):
    stale = hip.malloc(64)
    hip.ok("hipFree", stale)
    code, text = hip.error("hipMemcpy", stale, device, 8, DEVICE_TO_HOST)
    assert code == "hipErrorInvalidValue"
    assert (
        text
        == f"the destination {stale:#x} is byte 0 of a device allocation of 64 bytes at {stale:#x}, which was freed"
    )


def test_unmapped_host_memory(hip, device):
    assert hip.error("hipMemcpy", device, 0x1234000, 8, HOST_TO_DEVICE) == (
        "hipErrorInvalidValue",
        "the source 0x1234000: its 8 bytes are not all mapped",
    )


def test_null_and_empty(hip, device):
    assert hip.error("hipMemcpy", device, 0, 8, HOST_TO_DEVICE) == ("hipErrorInvalidValue", "the source is null")
    hip.ok("hipMemcpy", device, 0, 0, HOST_TO_DEVICE)


def test_kind_that_does_not_exist(hip, device):
    assert hip.error("hipMemcpy", device, device, 8, 5) == (
        "hipErrorInvalidMemcpyDirection",
        "copy kind 5 does not exist (0 to 4, and 1024)",
    )


def test_arrays_are_not_supported_by_name(hip):
    parameters = (ctypes.c_uint64 * 20)(1)
    assert hip.error("hipMemcpy3D", parameters) == (
        "hipErrorNotSupported",
        "the gfx950 emulator has no arrays (images): pass pitched pointers",
    )
