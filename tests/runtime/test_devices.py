"""Several devices, partitions, and devices of another architecture."""

TWO = {"GFX950_EMU_DEVICES": "2", "GFX950_EMU_STRICT": None}


def test_two_devices_used_alternately_from_four_threads(fresh_process, emulated):
    program = """
        import threading
        from hip import hip
        import paged_attn_runtime as par
        from paged_attn_runtime.driver import driver
        from tests.runtime.scenario import Call, make_plan
        errors = []
        def work(number):
            try:
                for turn in range(6):
                    device = (number + turn) % 2
                    assert hip.hipSetDevice(device)[0] == 0
                    call = Call(seed=number)
                    assert call.out.device == device
                    assert hip.hipSetDevice(number % 2)[0] == 0  # current is not always the tensors' device
                    if turn % 2:
                        call.prefill()
                    else:
                        call.run(make_plan(device=device))
                    assert hip.hipGetDevice()[1] == number % 2
                    with driver().device(device):
                        assert hip.hipDeviceSynchronize()[0] == 0
                        call.verify()
            except BaseException as error:
                import traceback
                errors.append(traceback.format_exc())
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not errors, "".join(errors)
        """
    fresh_process(program, GFX950_EMU_STREAM_DELAY_US="500", **TWO)


def test_the_current_device_is_restored_after_an_error(fresh_process, emulated):
    program = """
        from hip import hip
        import paged_attn_runtime as par
        from tests.runtime.scenario import Call
        assert hip.hipSetDevice(1)[0] == 0
        call = Call()
        assert hip.hipSetDevice(0)[0] == 0
        call.prefill()
        assert hip.hipGetDevice()[1] == 0
        for wrong in ({"stream": 0x1234560}, {"max_seqlen_k": -1}):
            try:
                call.prefill(**wrong)
            except (par.HipError, ValueError) as error:
                print(type(error).__name__)
            assert hip.hipGetDevice()[1] == 0
        call.prefill()
        assert hip.hipSetDevice(1)[0] == 0
        call.verify()
        """
    assert fresh_process(program, **TWO).split() == ["HipError", "ValueError"]


def test_tensors_on_two_devices_are_refused(fresh_process, emulated):
    program = """
        from hip import hip
        import paged_attn_runtime as par
        from tests.runtime.scenario import Call
        call = Call()
        call.tensors[1] = par.DeviceArray.from_numpy(call.problem.k_cache, device=1)
        try:
            call.prefill()
        except ValueError as error:
            print(error)
        """
    assert "tensors on different devices: q on device 0, k_cache on device 1" in fresh_process(program, **TWO)


def test_a_plan_is_for_one_device(fresh_process, emulated):
    program = """
        from hip import hip
        from tests.runtime.scenario import Call, make_plan
        plan = make_plan(device=1)
        try:
            Call().run(plan)
        except ValueError as error:
            print(error)
        """
    assert "the tensors are on device 0; the plan is for device 1" in fresh_process(program, **TWO)


def test_a_partition_with_fewer_units_is_a_gfx950_all_the_same(fresh_process, emulated):
    program = """
        import paged_attn_runtime as par
        from tests.runtime.scenario import Call
        call = Call()
        call.prefill()
        call.verify()
        print(par.device_description())
        """
    assert "gfx950:sramecc+:xnack-, 32 CUs" in fresh_process(program, GFX950_EMU_CUS="32")


def test_another_architecture_is_refused_by_name(fresh_process, emulated):
    program = """
        import paged_attn_runtime as par
        from paged_attn_runtime.driver import Driver
        Driver.full_architecture = lambda self, device: "gfx942:sramecc+:xnack-"
        from tests.runtime.scenario import Call, make_plan
        for attempt in (make_plan, Call().prefill, lambda: par.warmup(head_dim=192)):
            try:
                attempt()
            except par.ArtifactError as error:
                print(error)
        print(par.is_supported(head_dim=192, v_head_dim=128, page_size=64, device=0))
        """
    lines = fresh_process(program).splitlines()
    assert (
        lines[:3]
        == ["device 0 is gfx942; the prebuilt kernels are for gfx950 (MI350X, MI355X) and run on nothing else"] * 3
    )
    assert lines[3].startswith("(False, 'device 0 is gfx942")
