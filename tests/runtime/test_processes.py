"""Threads, forks, interpreter exit, and two HIP runtimes in one process."""

import shutil

import pytest

from .conftest import EMULATOR_ROCM


def test_first_use_inside_a_thread(fresh_process):
    program = """
        import threading
        import paged_attn_runtime
        def work():
            from tests.runtime.scenario import Call
            call = Call()
            call.prefill()
            call.verify()
            print("right")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    assert fresh_process(program).strip() == "right"


def test_many_threads_load_one_kernel_once(fresh_process, emulated):
    program = """
        import threading
        from tests.runtime.scenario import Call, live_objects
        calls = [Call() for _ in range(6)]
        barrier, errors = threading.Barrier(6), []
        def work(call):
            barrier.wait()
            try:
                call.prefill()
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=work, args=(c,)) for c in calls]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not errors, errors
        [c.verify() for c in calls]
        print(live_objects()["modules"])
        """
    assert fresh_process(program).strip() == "1"


def test_forked_before_the_first_use_of_a_device(fresh_process):
    program = """
        import os, sys
        import paged_attn_runtime as par
        assert par.is_supported(head_dim=192, v_head_dim=128, page_size=64) == (True, "")
        child = os.fork()
        from tests.runtime.scenario import Call
        call = Call()
        call.prefill()
        call.verify()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print("right")
        """
    assert "right" in fresh_process(program)


def test_forked_after_it_names_the_error_and_makes_no_hip_call(fresh_process, emulated, tmp_path):
    log = tmp_path / "calls"
    program = f"""
        import os, sys
        import paged_attn_runtime as par
        from tests.runtime.scenario import Call, make_plan
        call, plan = Call(), make_plan()
        call.run(plan)
        call.out.to_numpy()
        before = open({str(log)!r}).read().count("\\n")
        child = os.fork()
        if child == 0:
            new_array = lambda: par.DeviceArray.zeros(4, "|u1")
            for attempt in (call.prefill, lambda: call.run(plan), make_plan, par.warmup, new_array):
                try:
                    attempt()
                except par.HipError as error:
                    assert error.name == "ForkedProcess" and "'spawn'" in str(error), error
                else:
                    os._exit(3)
            del call, plan  # frees nothing that is the parent's
            print(par.is_supported(head_dim=192, v_head_dim=128, page_size=64, device=0)[1])
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert open({str(log)!r}).read().count("\\n") == before
        call.prefill()
        call.verify()
        """
    assert fresh_process(program, GFX950_EMU_LOG=str(log)).startswith(
        "ForkedProcess: this process was forked after HIP was in use"
    )


def test_a_fork_from_a_thread_while_another_loads_does_not_hang(fresh_process):
    program = """
        import os, threading
        import paged_attn_runtime as par
        from paged_attn_runtime import driver, modules
        modules._lock.acquire(); driver._lock.acquire()  # as a loading thread would at the moment of the fork
        child = os.fork()
        if child == 0:
            from tests.runtime.scenario import Call
            call = Call()
            thread = threading.Thread(target=call.prefill)
            thread.start(); thread.join()
            call.verify()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """
    fresh_process(program)


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "import os; held = (call, plan, par)"])
def test_the_interpreter_ends_without_noise(fresh_process, ending):
    program = f"""
        import paged_attn_runtime as par
        from tests.runtime.scenario import Call, make_plan
        call, plan = Call(), make_plan()
        call.run(plan)
        par.keep = (call, plan)
        {ending}
        """
    assert fresh_process(program).strip() == ""


def second_runtime(tmp_path):
    """Another copy of the emulator, as another file."""
    folder = tmp_path / "other" / "lib"
    shutil.copytree(EMULATOR_ROCM / "lib", folder, symlinks=True)
    return folder / "libamdhip64.so"


def test_the_runtime_that_is_loaded_already_is_used(fresh_process, emulated, tmp_path):
    program = f"""
        import ctypes
        ctypes.CDLL({str(second_runtime(tmp_path))!r})  # as a torch that brings its own
        from tests.runtime.scenario import Call
        from paged_attn_runtime.driver import loaded_runtimes
        call = Call()
        call.prefill()
        call.verify()
        print(*loaded_runtimes())
        """
    (loaded,) = fresh_process(program).split()
    assert loaded.startswith(str(tmp_path))


def test_two_runtimes_are_refused_and_both_named(fresh_process, emulated, tmp_path):
    program = f"""
        import ctypes
        import paged_attn_runtime as par
        ctypes.CDLL({str(second_runtime(tmp_path))!r})
        ctypes.CDLL({str(EMULATOR_ROCM / "lib" / "libamdhip64.so")!r})
        for attempt in (lambda: par.DeviceArray.zeros(4, "|u1"), par.warmup, par.device_description):
            try:
                attempt()
            except par.HipError as error:
                print(error)
        """
    for line in fresh_process(program).splitlines():
        assert line.startswith("TwoHipRuntimes: this process has loaded ")
        assert (
            str(tmp_path.resolve()) in line and str(EMULATOR_ROCM.resolve()) in line and "import torch before" in line
        )


def test_a_second_runtime_that_comes_later_is_found_when_a_kernel_is_loaded(fresh_process, emulated, tmp_path):
    program = f"""
        import ctypes
        import paged_attn_runtime as par
        par.device_description()
        ctypes.CDLL({str(second_runtime(tmp_path))!r})
        try:
            par.warmup(head_dim=192, v_head_dim=128, page_size=64)
        except par.HipError as error:
            print(error)
        """
    assert fresh_process(program).startswith("TwoHipRuntimes: ")
