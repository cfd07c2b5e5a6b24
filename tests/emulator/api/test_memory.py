"""Allocation, freeing, pinned and registered host memory, managed memory, pools, pointer attributes."""

import ctypes
import mmap

import pytest

from tests.emulator.api.ctypes_hip import PointerAttributes

UNREGISTERED, HOST, DEVICE, MANAGED = 0, 1, 2, 3


def attributes(hip, pointer):
    result = PointerAttributes()
    hip.ok("hipPointerGetAttributes", ctypes.byref(result), pointer)
    return result


def test_size_zero_gives_null(hip):
    assert hip.malloc(0) == 0
    hip.ok("hipFree", 0)


def test_more_than_the_device_has(hip):
    code, text = hip.error("hipMalloc", ctypes.byref(ctypes.c_uint64()), 1 << 45)
    assert code == "hipErrorOutOfMemory"
    assert text.startswith("35184372088832 bytes do not fit: device 0 has 309220868096 bytes, ")


def test_a_large_sparse_allocation(hip):
    size = 12 << 30
    pointer = hip.malloc(size)
    hip.ok("hipMemset", pointer + size - 4, 0x5A, 4)
    assert hip.download(pointer + size - 4, 4) == b"ZZZZ"
    hip.ok("hipFree", pointer)


def test_double_free(hip):
    pointer = hip.malloc(64)
    hip.ok("hipFree", pointer)
    code, text = hip.error("hipFree", pointer)
    assert code == "hipErrorInvalidValue"
    assert text == (
        f"cannot free {pointer:#x}: it is byte 0 of a device allocation of 64 bytes at {pointer:#x}, which was freed"
    )


def test_free_of_the_middle_and_of_nothing(hip):
    pointer = hip.malloc(64)
    assert hip.error("hipFree", pointer + 4)[0] == "hipErrorInvalidValue"
    assert hip.error("hipFree", 0x1000)[0] == "hipErrorInvalidValue"
    hip.ok("hipFree", pointer)


def test_each_kind_has_its_free(hip):
    device, host = hip.malloc(64), hip.pinned(64)
    assert hip.error("hipHostFree", device) == (
        "hipErrorInvalidValue",
        f"{device:#x} is a device allocation; hipHostFree does not free it",
    )
    assert hip.error("hipFree", host) == (
        "hipErrorInvalidValue",
        f"{host:#x} is a pinned host allocation; hipFree does not free it",
    )
    hip.ok("hipFree", device)
    hip.ok("hipHostFree", host)


def test_attributes_of_device_memory(hip):
    pointer = hip.malloc(64)
    a = attributes(hip, pointer + 8)
    assert (a.type, a.device, a.device_pointer, a.host_pointer, a.managed) == (DEVICE, 0, pointer + 8, 0, 0)
    hip.ok("hipFree", pointer)
    assert attributes(hip, pointer).type == UNREGISTERED


def test_attributes_of_pinned_memory(hip):
    pointer = hip.get("hipHostMalloc", 64, 2)
    a = attributes(hip, pointer)
    assert (a.type, a.device_pointer, a.host_pointer, a.flags) == (HOST, pointer, pointer, 2)
    assert hip.get("hipHostGetDevicePointer", pointer, 0) == pointer
    assert hip.get("hipHostGetFlags", pointer, of=ctypes.c_uint) == 2
    hip.ok("hipHostFree", pointer)


def test_attributes_of_managed_memory(hip):
    pointer = hip.get("hipMallocManaged", 64, 1)
    a = attributes(hip, pointer)
    assert (a.type, a.managed) == (MANAGED, 1)
    ctypes.memset(pointer, 3, 64)
    assert hip.download(pointer, 2) == b"\3\3"
    hip.ok("hipMemPrefetchAsync", pointer, 64, 0, 0)
    hip.ok("hipFree", pointer)
    assert hip.error("hipMallocManaged", ctypes.byref(ctypes.c_uint64()), 64, 3)[1] == (
        "flags 3: hipMemAttachGlobal (1) and hipMemAttachHost (2) exist"
    )


def test_attributes_of_plain_host_memory(hip):
    buffer = ctypes.create_string_buffer(64)
    a = attributes(hip, ctypes.addressof(buffer))
    assert (a.type, a.device, a.device_pointer) == (UNREGISTERED, -2, 0)
    assert hip.error("hipPointerGetAttributes", ctypes.byref(a), 0) == ("hipErrorInvalidValue", "the pointer is null")
    address = ctypes.addressof(buffer)
    assert hip.error("hipHostGetDevicePointer", ctypes.byref(ctypes.c_uint64()), address, 0)[1] == (
        f"{address:#x} is neither pinned nor registered host memory"
    )


def test_registered_memory(hip):
    area = mmap.mmap(-1, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    hip.ok("hipHostRegister", address, 8192, 0)
    assert attributes(hip, address + 100).type == HOST
    assert hip.get("hipHostGetDevicePointer", address + 100, 0) == address + 100
    code, text = hip.error("hipHostRegister", address, 8192, 0)
    assert (code, text) == (
        "hipErrorHostMemoryAlreadyRegistered",
        f"{address:#x} lies in a registered host allocation at {address:#x}",
    )
    hip.ok("hipHostUnregister", address)
    code, text = hip.error("hipHostUnregister", address)
    assert (code, text) == ("hipErrorHostMemoryNotRegistered", f"{address:#x} is not registered")


def test_registering_what_is_not_mapped(hip):
    assert hip.error("hipHostRegister", 0x10000, 4096, 0) == (
        "hipErrorInvalidValue",
        "0x10000: its 4096 bytes are not all mapped",
    )


def test_address_range(hip):
    pointer = hip.malloc(1000)
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    hip.ok("hipMemGetAddressRange", ctypes.byref(base), ctypes.byref(size), pointer + 999)
    assert (base.value, size.value) == (pointer, 1000)
    hip.ok("hipFree", pointer)
    assert hip("hipMemGetAddressRange", ctypes.byref(base), ctypes.byref(size), pointer) == "hipErrorNotFound"


def test_pointer_attribute_by_name(hip):
    pointer = hip.malloc(96)
    assert hip.get("hipPointerGetAttribute", 12, pointer + 8, of=ctypes.c_uint) == 96
    assert hip.get("hipPointerGetAttribute", 11, pointer + 8) == pointer
    code, text = hip.error("hipPointerGetAttribute", ctypes.byref(ctypes.c_uint64()), 99, pointer)
    assert (code, text) == ("hipErrorNotSupported", "the gfx950 emulator does not know pointer attribute 99")
    hip.ok("hipFree", pointer)


def test_pitched_allocation(hip):
    pointer, pitch = ctypes.c_uint64(), ctypes.c_size_t()
    hip.ok("hipMallocPitch", ctypes.byref(pointer), ctypes.byref(pitch), 300, 4)
    assert pitch.value == 512
    hip.ok("hipFree", pointer)
    assert hip("hipMallocPitch", ctypes.byref(pointer), ctypes.byref(pitch), 1 << 40, 1 << 40) == "hipErrorOutOfMemory"


def test_stream_ordered_allocation(hip, stream):
    pool = hip.get("hipDeviceGetDefaultMemPool", 0)
    before = hip.live("allocations")

    def used():
        value = ctypes.c_uint64()
        hip.ok("hipMemPoolGetAttribute", pool, 7, ctypes.byref(value))
        return value.value

    start = used()
    pointer = hip.get("hipMallocAsync", 4096, stream)
    assert used() == start + 4096
    hip.ok("hipMemsetAsync", pointer, 1, 4096, stream)
    hip.ok("hipFreeAsync", pointer, stream)
    hip.ok("hipStreamSynchronize", stream)
    assert (used(), hip.live("allocations")) == (start, before)


def test_stream_ordered_free_of_something_else(hip, stream):
    code, text = hip.error("hipFreeAsync", 0x1000, stream)
    assert code == "hipErrorInvalidValue"
    assert text.startswith("0x1000 is not the start of device memory: ")
    assert hip.error("hipMemPoolDestroy", hip.get("hipDeviceGetDefaultMemPool", 0)) == (
        "hipErrorInvalidValue",
        "a device's default pool cannot be destroyed",
    )


def test_all_host_memory(run_process):
    run_process(
        "functions = load()\n"
        "buffer = ctypes.create_string_buffer(64)\n"
        "address = ctypes.addressof(buffer)\n"
        "a = PointerAttributes()\n"
        "hip.ok('hipPointerGetAttributes', ctypes.byref(a), address)\n"
        "assert (a.type, a.device, a.device_pointer) == (1, 0, address)\n"
        "assert hip.get('hipHostGetDevicePointer', address, 0) == address\n"
        "assert hip.store(functions, address, 77) == 'hipSuccess'\n"
        "hip.ok('hipDeviceSynchronize')\n"
        "assert struct.unpack_from('<I', buffer.raw)[0] == 77\n"
        "hip.ok('hipMemcpy', address + 8, address, 4, DEVICE_TO_DEVICE)\n"
        "assert struct.unpack_from('<I', buffer.raw, 8)[0] == 77\n",
        GFX950_EMU_ALL_HOST_MEMORY="1",
    )


@pytest.mark.parametrize("call", ["hipMalloc", "hipHostMalloc"])
def test_null_result_pointer(hip, call):
    assert hip.error(call, None, 64, 0) == ("hipErrorInvalidValue", "the pointer to the result is null")
