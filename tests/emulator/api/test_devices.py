"""Devices: count, current device per thread, properties, attributes, visibility."""

import ctypes
import re
import threading
from pathlib import Path

import pytest


def test_runtime_version_is_hip_7_2(hip):
    assert 70_200_000 <= hip.get("hipRuntimeGetVersion", of=ctypes.c_int) < 70_300_000
    assert hip.get("hipDriverGetVersion", of=ctypes.c_int) == hip.get("hipRuntimeGetVersion", of=ctypes.c_int)


def test_one_device_by_default(hip):
    assert hip.get("hipGetDeviceCount", of=ctypes.c_int) == 1


def test_properties(hip):
    raw = ctypes.create_string_buffer(1472)
    hip.ok("hipGetDevicePropertiesR0600", raw, 0)
    assert raw.value == b"AMD Instinct MI355X"
    assert b"gfx950:sramecc+:xnack-\0" in raw.raw


def test_old_properties_have_the_old_layout(hip):
    raw = ctypes.create_string_buffer(1024)
    hip.ok("hipGetDeviceProperties", raw, 0)
    assert raw.value == b"AMD Instinct MI355X"
    gcn_arch_name = 396
    assert raw.raw[gcn_arch_name : gcn_arch_name + 23] == b"gfx950:sramecc+:xnack-\0"


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        (63, 256),
        (87, 64),
        (56, 1024),
        (74, 163840),
        (23, 9),
        (61, 5),
        (29, 2147483647),
        (88, 1),
        (10018, 8),
        (10002, 163840),
    ],
)
def test_attribute(hip, attribute, value):
    assert hip.get("hipDeviceGetAttribute", attribute, 0, of=ctypes.c_int) == value


def test_unknown_attribute(hip):
    result = ctypes.c_int()
    assert hip.error("hipDeviceGetAttribute", ctypes.byref(result), 9998, 0) == (
        "hipErrorInvalidValue",
        "attribute 9998 is not known to the emulator",
    )


@pytest.mark.parametrize("ordinal", [1, -1, 64])
def test_device_that_does_not_exist(hip, ordinal):
    code, text = hip.error("hipSetDevice", ordinal)
    assert code == "hipErrorInvalidDevice"
    assert text == (
        f"device {ordinal} does not exist: there is 1 device, counted from 0 (GFX950_EMU_DEVICES sets how many)"
    )


def test_null_results_are_refused(hip):
    assert hip.error("hipGetDevice", None) == ("hipErrorInvalidValue", "the device pointer is null")
    assert hip.error("hipGetDeviceCount", None) == ("hipErrorInvalidValue", "the count pointer is null")
    assert hip.error("hipMemGetInfo", None, None) == ("hipErrorInvalidValue", "the total pointer is null")


def test_memory_info_follows_allocations(hip):
    def free():
        values = (ctypes.c_size_t * 2)()
        hip.ok("hipMemGetInfo", ctypes.byref(values, 0), ctypes.byref(values, 8))
        return values[0]

    before = free()
    pointer = hip.malloc(1 << 20)
    assert before - free() == 1 << 20
    hip.ok("hipFree", pointer)
    assert free() == before


def test_pci_bus_id_finds_its_device(hip):
    name = ctypes.create_string_buffer(16)
    hip.ok("hipDeviceGetPCIBusId", name, 16, 0)
    assert hip.get("hipDeviceGetByPCIBusId", name, of=ctypes.c_int) == 0
    code, text = hip.error("hipDeviceGetByPCIBusId", ctypes.byref(ctypes.c_int()), "0000:ff:00.0")
    assert (code, text) == ("hipErrorInvalidValue", "no device has the bus id 0000:ff:00.0")


def test_several_devices_and_fewer_units(run_process):
    run_process(
        "assert hip.get('hipGetDeviceCount', of=ctypes.c_int) == 3\n"
        "assert hip.get('hipDeviceGetAttribute', 63, 2, of=ctypes.c_int) == 32\n"
        "seen = []\n"
        "hip.ok('hipSetDevice', 2)\n"
        "t = threading.Thread(target=lambda: seen.append(hip.get('hipGetDevice', of=ctypes.c_int)))\n"
        "t.start(); t.join()\n"
        "assert seen == [0] and hip.get('hipGetDevice', of=ctypes.c_int) == 2\n"
        "a = PointerAttributes(); p = hip.malloc(16)\n"
        "hip.ok('hipPointerGetAttributes', ctypes.byref(a), p)\n"
        "assert a.device == 2\n",
        GFX950_EMU_DEVICES="3",
        GFX950_EMU_CUS="32",
    )


def test_visible_devices(run_process):
    code = (
        "ids = []\n"
        "for i in range(hip.get('hipGetDeviceCount', of=ctypes.c_int)):\n"
        "    b = ctypes.create_string_buffer(16); hip.ok('hipDeviceGetPCIBusId', b, 16, i); ids.append(b.value.decode())\n"
        "print(*ids)\n"
    )
    everything = run_process(code, GFX950_EMU_DEVICES="4").stdout.split()
    some = run_process(code, GFX950_EMU_DEVICES="4", HIP_VISIBLE_DEVICES="2,0").stdout.split()
    assert len(everything) == 4
    assert some == [everything[2], everything[0]]


def test_no_device(run_process):
    run_process(
        "n = ctypes.c_int(5)\n"
        "assert hip('hipGetDeviceCount', ctypes.byref(n)) == 'hipErrorNoDevice' and n.value == 0\n"
        "code, text = hip.error('hipMalloc', ctypes.byref(ctypes.c_uint64()), 4)\n"
        "assert (code, text) == ('hipErrorNoDevice', 'there is no device (GFX950_EMU_DEVICES, HIP_VISIBLE_DEVICES)'), text\n",
        GFX950_EMU_DEVICES="0",
    )


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("GFX950_EMU_DEVICES", "many", "GFX950_EMU_DEVICES=many is not a whole number from 0 to 64"),
        ("GFX950_EMU_CUS", "0", "GFX950_EMU_CUS=0 is not a whole number from 1 to 256"),
        ("GFX950_EMU_STREAM_DELAY_US", "-1", "GFX950_EMU_STREAM_DELAY_US=-1 is not a whole number from 0 to 60000000"),
        ("GFX950_EMU_NULL", "yes", "GFX950_EMU_NULL=yes is not a whole number from 0 to 1"),
        ("GFX950_EMU_STRICT", "2", "GFX950_EMU_STRICT=2 is not a whole number from 0 to 1"),
        ("GFX950_EMU_SEED", "x", "GFX950_EMU_SEED=x is not a whole number from 0 to 9223372036854775807"),
        ("GFX950_EMU_LOG", "/nowhere/log", "GFX950_EMU_LOG=/nowhere/log cannot be opened: No such file or directory"),
    ],
)
def test_settings_that_make_no_sense(run_process, variable, value, text):
    run_process(
        f"assert hip.error('hipInit', 0) == ('hipErrorNotInitialized', {text!r}), hip.text()\n", **{variable: value}
    )


def test_misspelt_settings_are_named(run_process):
    done = run_process("hip.ok('hipInit', 0)\n", GFX950_EMU_STRICTLY="1")
    assert done.stderr.startswith(
        "gfx950 emulator: GFX950_EMU_STRICTLY is no setting; there are GFX950_EMU_ALL_HOST_MEMORY "
    )
    assert done.stderr.endswith(" GFX950_EMU_STRICT GFX950_EMU_THREADS\n")


def test_current_device_is_per_thread(hip):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(hip.get("hipGetDevice", of=ctypes.c_int)))
    thread.start()
    thread.join()
    assert seen == [0]


def test_peers(run_process):
    run_process(
        "assert hip.get('hipDeviceCanAccessPeer', 0, 1, of=ctypes.c_int) == 1\n"
        "hip.ok('hipDeviceEnablePeerAccess', 1, 0)\n"
        "assert hip('hipDeviceEnablePeerAccess', 1, 0) == 'hipErrorPeerAccessAlreadyEnabled'\n"
        "hip.ok('hipDeviceDisablePeerAccess', 1)\n"
        "assert hip('hipDeviceDisablePeerAccess', 1) == 'hipErrorPeerAccessNotEnabled'\n"
        "assert hip('hipDeviceEnablePeerAccess', 0, 0) == 'hipErrorInvalidDevice'\n"
        "a = hip.upload(b'0123'); hip.ok('hipSetDevice', 1); b = hip.malloc(4)\n"
        "hip.ok('hipMemcpyPeer', b, 1, a, 0, 4)\n"
        "assert hip.download(b, 4) == b'0123'\n",
        GFX950_EMU_DEVICES="2",
    )


def test_the_library_knows_every_setting_that_its_sources_read():
    emulator = Path(__file__).parents[3] / "emulator"
    read = set()
    for source in emulator.glob("[!b]*/*.cpp"):
        read |= set(re.findall(r'"GFX950_EMU_(\w+)"', source.read_text()))
    known = re.search(r"kKnown\[\] = \{([^}]*)\}", (emulator / "api" / "process.cpp").read_text()).group(1)
    assert read == set(re.findall(r'"(\w+)"', known))
