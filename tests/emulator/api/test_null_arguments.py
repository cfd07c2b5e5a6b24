"""Every function of the library, called with nothing but zeros, answers; it neither crashes nor hangs."""

from elftools.elf.elffile import ELFFile

from tests.emulator.api.ctypes_hip import LIBRARY


def test_every_function_survives_zeros(run_process):
    with open(LIBRARY, "rb") as file:
        names = sorted(
            symbol.name
            for symbol in ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
            and symbol["st_shndx"] != "SHN_UNDEF"
            and symbol.name.lstrip("_").startswith("hip")
        )
    # It returns a struct, so its first argument is where to put it.
    names.remove("hipCreateChannelDesc")
    done = run_process(
        f"names = {names!r}\n"
        "for capturing in (False, True):\n"
        "    stream = hip.stream()\n"
        "    if capturing: hip.ok('hipStreamBeginCapture', stream, RELAXED)\n"
        "    for name in names:\n"
        "        print(name, flush=True)\n"
        "        hip.code(name, *[0] * 12)\n"
        "print('done')\n",
        check=False,
    )
    assert done.returncode == 0 and done.stdout.endswith("done\n"), (done.stdout.split()[-1], done.stderr[-2000:])
