"""The library exports every function that hip-python knows, under the symbol version and soname that others link against."""

import ctypes
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hip import hip as hip_python

from tests.emulator.api.ctypes_hip import LIBRARY

API = Path(__file__).parents[3] / "emulator" / "api"


@pytest.fixture(scope="module")
def exported():
    with open(LIBRARY, "rb") as file:
        elf = ELFFile(file)
        names, versions = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".gnu.version")
        definitions = {
            version["vd_ndx"]: next(auxiliaries).name
            for version, auxiliaries in elf.get_section_by_name(".gnu.version_d").iter_versions()
        }
        result = {}
        for i, symbol in enumerate(names.iter_symbols()):
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["type"] == "STT_FUNC":
                index = versions.get_symbol(i)["ndx"]
                result[symbol.name] = definitions.get(index if isinstance(index, str) else index & 0x7FFF)
        return result


def test_soname():
    with open(LIBRARY, "rb") as file:
        tags = ELFFile(file).get_section_by_name(".dynamic").iter_tags()
        assert [tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"] == ["libamdhip64.so.7"]


def test_symbol_versions(exported):
    assert {version for name, version in exported.items() if name.lstrip("_").startswith("hip")} == {"hip_4.2"}
    others = {name for name, version in exported.items() if version != "hip_4.2"}
    assert others >= {"gfx950_emu_last_error_text", "gfx950_emu_live_objects", "gfx950_emu_version"}
    assert all(name.startswith("gfx950_emu_") for name in others)


def test_all_that_hip_python_knows_is_there(exported):
    bindings = pytest.importorskip("rocm.bindings", reason="only hip-python 10 ships the sources of its loader")
    source = (Path(bindings.__path__[0]) / "cyhip.pyx").read_text()
    known = set(re.findall(r'__init_symbol\(&\w+,"(\w+)"\)', source))
    assert len(known) > 500
    assert known - exported.keys() == set()


def test_the_list_of_what_is_missing_is_sorted_and_free_of_doubles():
    lines = [line for line in (API / "unsupported.def").read_text().splitlines() if line.startswith("NAME(")]
    names = [re.fullmatch(r'NAME\((\w+), "([^"]*)"\)', line).group(1) for line in lines]
    assert names == sorted(set(names))


def test_every_code_has_its_name_and_text(hip):
    codes = hip_python.hipError_t.__members__
    for name, code in codes.items():
        aliases = {other for other, same in codes.items() if int(same) == int(code)}
        assert hip.name_of(int(code)) in aliases, name
        assert hip.library.hipGetErrorString(int(code)) != b"a code that HIP does not define", name
    assert hip.name_of(12345) == "hipErrorUnknown"
    text = ctypes.c_char_p()
    hip.ok("hipDrvGetErrorString", 1, ctypes.byref(text))
    assert text.value == b"invalid argument"
