"""Modules and functions: loading, names, globals, unloading, and images that are no code object for this device."""

import ctypes
import struct

import pytest


def load_error(hip, image):
    return hip.error("hipModuleLoadData", ctypes.byref(ctypes.c_uint64()), ctypes.c_char_p(bytes(image)))


def test_names(hip, module):
    assert hip.code("hipModuleGetFunctionCount", ctypes.byref(count := ctypes.c_uint()), module) == 0
    assert count.value == 7
    assert hip.function(module, "store") == hip.function(module, "store")
    assert hip.error("hipModuleGetFunction", ctypes.byref(ctypes.c_uint64()), module, "nothing") == (
        "hipErrorNotFound",
        "the module has no kernel named nothing; it has: store, add_one, mixed, bump, spin, one_wave, with_lds",
    )


def test_file(hip, code_object_path):
    module = hip.get("hipModuleLoad", str(code_object_path))
    hip.function(module, "store")
    hip.ok("hipModuleUnload", module)
    assert hip.error("hipModuleLoad", ctypes.byref(ctypes.c_uint64()), "/nowhere.hsaco") == (
        "hipErrorFileNotFound",
        "/nowhere.hsaco: No such file or directory",
    )


def test_global(hip, module, functions):
    pointer, size = ctypes.c_uint64(), ctypes.c_size_t()
    hip.ok("hipModuleGetGlobal", ctypes.byref(pointer), ctypes.byref(size), module, "counter")
    assert size.value == 4
    assert hip.read_u32(pointer.value) == 7
    assert hip.launch(functions["bump"], b"") == "hipSuccess"
    assert hip.read_u32(pointer.value) == 8
    assert hip.error("hipModuleGetGlobal", ctypes.byref(pointer), ctypes.byref(size), module, "nothing") == (
        "hipErrorNotFound",
        "the module has no variable named nothing",
    )


def test_each_load_has_its_own_variables(hip, image):
    a, b = hip.module(image), hip.module(image)
    assert hip.launch(hip.function(a, "bump"), b"") == "hipSuccess"
    values = [
        hip.read_u32(hip.get("hipModuleGetGlobal", ctypes.byref(ctypes.c_size_t()), m, "counter")) for m in (a, b)
    ]
    assert values == [8, 7]
    hip.ok("hipModuleUnload", a)
    hip.ok("hipModuleUnload", b)


def test_use_after_unload(hip, image):
    module = hip.module(image)
    function = hip.function(module, "store")
    before = hip.live("allocations")
    hip.ok("hipModuleUnload", module)
    assert hip.live("allocations") == before - 1
    unloaded = ("hipErrorInvalidHandle", f"module {module:#x} was unloaded")
    assert hip.error("hipModuleUnload", module) == unloaded
    assert hip.error("hipModuleGetFunction", ctypes.byref(ctypes.c_uint64()), module, "store") == unloaded
    assert hip.launch(function, bytes(12), call=hip.error) == (
        "hipErrorInvalidHandle",
        f"function {function:#x} was unloaded",
    )


def test_unloading_while_the_kernel_runs(hip, image, stream):
    module = hip.module(image)
    pointer = hip.upload(bytes(4))
    assert hip.launch(hip.function(module, "spin"), struct.pack("<QI", pointer, 2000), stream) == "hipSuccess"
    hip.ok("hipModuleUnload", module)
    hip.ok("hipStreamSynchronize", stream)
    assert hip.read_u32(pointer) != 0


def test_what_is_no_code_object(hip):
    assert load_error(hip, b"hello, this is text, and long enough") == (
        "hipErrorInvalidImage",
        "the image is neither an ELF nor an offload bundle",
    )
    assert hip.error("hipModuleLoadData", ctypes.byref(ctypes.c_uint64()), None) == (
        "hipErrorInvalidValue",
        "the image is null",
    )
    assert hip.error("hipModuleLoadData", ctypes.byref(ctypes.c_uint64()), 0x1000)[0] == "hipErrorInvalidImage"


def test_another_architecture(hip, image):
    gfx942 = bytearray(image)
    gfx942[48] = 0x4C
    assert load_error(hip, gfx942) == (
        "hipErrorNoBinaryForGpu",
        "the code object is for another architecture (e_flags machine 0x4c), the device is gfx950 (0x4f)",
    )
    host = bytearray(image)
    struct.pack_into("<H", host, 18, 62)
    assert load_error(hip, host) == (
        "hipErrorNoBinaryForGpu",
        "the image is an ELF for machine 62, not for an AMD GPU (224)",
    )


def test_truncated_file(hip, image, tmp_path):
    for size in (3, 20, 63, 100, len(image) // 2, len(image) - 1):
        path = tmp_path / "cut.hsaco"
        path.write_bytes(image[:size])
        code, text = hip.error("hipModuleLoad", ctypes.byref(ctypes.c_uint64()), str(path))
        assert code == "hipErrorInvalidImage", (size, text)
    path.write_bytes(b"")
    assert (
        hip.error("hipModuleLoad", ctypes.byref(ctypes.c_uint64()), str(path))[1]
        == f"{path} is empty or cannot be read"
    )


def test_absurd_headers(hip, image):
    for offset, value in ((32, 1 << 60), (40, 1 << 60), (40, len(image) + (1 << 33))):
        broken = bytearray(image)
        struct.pack_into("<Q", broken, offset, value)
        assert load_error(hip, broken)[0] == "hipErrorInvalidImage"


def bundle(entries):
    header = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    offset = len(header) + sum(24 + len(name) for name, _ in entries)
    body = b""
    for name, data in entries:
        header += struct.pack("<QQQ", offset + len(body), len(data), len(name)) + name
        body += data
    return header + body


def test_offload_bundle(hip, image):
    host, ours = b"host-x86_64-unknown-linux-gnu-", b"hipv4-amdgcn-amd-amdhsa--gfx950"
    module = hip.module(bundle([(host, b""), (b"hipv4-amdgcn-amd-amdhsa--gfx942", b"junk"), (ours, image)]))
    hip.function(module, "store")
    hip.ok("hipModuleUnload", module)
    assert load_error(hip, bundle([(host, b""), (b"hipv4-amdgcn-amd-amdhsa--gfx942", b"junk")])) == (
        "hipErrorNoBinaryForGpu",
        "the bundle holds no code object for gfx950:sramecc+:xnack-; it holds: "
        "host-x86_64-unknown-linux-gnu-, hipv4-amdgcn-amd-amdhsa--gfx942",
    )
    assert load_error(hip, b"CCOB" + bytes(64)) == (
        "hipErrorNotSupported",
        "the gfx950 emulator does not open compressed offload bundles (compile with --no-offload-compress)",
    )


@pytest.mark.parametrize(("attribute", "value"), [(0, 64), (1, 0), (3, 0), (8, 163840), (9, -1)])
def test_function_attributes(hip, functions, attribute, value):
    assert hip.get("hipFuncGetAttribute", attribute, functions["one_wave"], of=ctypes.c_int) == value


def test_function_attributes_refused(hip, functions):
    assert hip.error("hipFuncGetAttribute", ctypes.byref(ctypes.c_int()), 99, functions["store"]) == (
        "hipErrorInvalidValue",
        "function attribute 99 does not exist here (0 to 9)",
    )
    assert hip.error("hipFuncSetAttribute", functions["with_lds"], 8, 120_000) == (
        "hipErrorInvalidValue",
        "kernel with_lds: 120000 bytes of dynamic LDS, there are 0 to 98304",
    )
    hip.ok("hipFuncSetAttribute", functions["with_lds"], 8, 98304)


def test_occupancy(hip, functions):
    def blocks(name, block, lds=0):
        return hip.get(
            "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", functions[name], block, lds, of=ctypes.c_int
        )

    assert blocks("store", 64) == 32
    assert blocks("with_lds", 64) == 2
    assert blocks("store", 64, 100_000) == 1
    assert blocks("store", 64, 200_000) == 0
    grid, block = ctypes.c_int(), ctypes.c_int()
    hip.ok("hipModuleOccupancyMaxPotentialBlockSize", ctypes.byref(grid), ctypes.byref(block), functions["store"], 0, 0)
    assert (grid.value, block.value) == (8 * 256, 256)
    assert hip.error(
        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(grid), functions["store"], 0, 0
    ) == (
        "hipErrorInvalidValue",
        "a workgroup of 0 work-items",
    )


def test_module_of_another_device(run_process):
    run_process(
        "functions = load(); hip.ok('hipSetDevice', 1); s = hip.stream(); p = hip.malloc(4)\n"
        "code, text = hip.store(functions, p, 1, s, call=hip.error)\n"
        "assert code == 'hipErrorInvalidDevice'\n"
        "assert text == 'kernel store was loaded on device 0, the stream belongs to device 1'\n",
        GFX950_EMU_DEVICES="2",
    )
