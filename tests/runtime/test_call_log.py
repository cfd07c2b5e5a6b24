"""The emulator's call log: what the launch path asks of HIP, and what it does not."""

import re

import pytest

PROGRAM = """
        import numpy as np
        from hip import hip
        from tests.runtime.scenario import Call, make_plan
        call, plan = Call(), make_plan()
        call.prefill(); call.run(plan); call.run(plan, check=False)
        assert hip.hipDeviceSynchronize()[0] == 0
        mark = open({log!r}).read().count("\\n")
        for _ in range(5):
            {warm}
        print(*open({log!r}).read().splitlines()[mark:], sep="\\n")
"""


@pytest.mark.parametrize("warm", ["call.prefill()", "call.run(plan)", "call.run(plan, check=False)"])
def test_a_warm_call_asks_for_the_device_and_launches(fresh_process, emulated, tmp_path, warm):
    log = str(tmp_path / "calls")
    lines = fresh_process(PROGRAM.format(log=log, warm=warm), GFX950_EMU_LOG=log).splitlines()
    names = [re.match(r"\w+", line).group() for line in lines]
    assert names == ["hipGetDevice", "hipModuleLaunchKernel"] * 5


def test_the_first_call_loads_one_module_and_allocates_nothing(fresh_process, emulated, tmp_path):
    log = str(tmp_path / "calls")
    program = """
        from tests.runtime.scenario import Call
        call = Call()
        mark = open({log!r}).read().count("\\n")
        call.prefill()
        print(*open({log!r}).read().splitlines()[mark:], sep="\\n")
        """
    lines = fresh_process(program.format(log=log), GFX950_EMU_LOG=log).splitlines()
    names = [re.match(r"\w+", line).group() for line in lines]
    assert names.count("hipModuleLoadData") == 1 and names.count("hipModuleLaunchKernel") == 1
    assert not [name for name in names if re.search("Malloc|Memcpy|Memset|Synchronize", name)]
