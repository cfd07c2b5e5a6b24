"""The command line: what it prints, as text and as JSON, and its exit status."""

import json

import pytest

from paged_attn_runtime.cli import main

NAME = "paged_prefill_d192_v128_p64_vectorized_5d_longest_first"


def test_list(capsys, objects, manifest):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["D/Dv", "page", "layout", "batch", "policy", "VGPRs", "LDS", "bytes", "name"]
    assert lines[-1] == f"{len(manifest.variants)} variants for gfx950 in {objects}"
    assert len(lines) == len(manifest.variants) + 2
    assert next(line for line in lines if line.endswith(NAME)).startswith("192/128  64    vectorized_5d  longest_first")


def test_list_json(capsys, manifest):
    assert main(["list", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert {variant["name"] for variant in value["variants"]} == {entry.name for entry in manifest.variants}


def test_info(capsys):
    assert main(["info", NAME]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0] == NAME
    for said in (
        "head_dim 192",
        "sha256 ",
        "query rows",
        "x = num_q_heads",
        "0 spilled",
        "pointer block_table",
        "f32     softmax_scale",
    ):
        assert said in text


def test_info_json(capsys, manifest):
    assert main(["info", NAME, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    entry = next(entry for entry in manifest.variants if entry.name == NAME)
    assert value["sha256"] == entry.sha256 and len(value["kernarg"]["args"]) == len(entry.kernarg.args)


def test_info_of_a_name_that_is_none(capsys):
    assert main(["info", "fast"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: 'fast' is no variant's name") and NAME in error


def test_info_of_a_name_that_is_none_as_json(capsys):
    assert main(["info", "fast", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "VariantNotFoundError"


def test_verify(capsys, objects, manifest):
    assert main(["verify"]) == 0
    assert capsys.readouterr().out == (
        f"{len(manifest.variants)} variants in {objects}: every object is what the manifest and its own metadata say\n"
    )


def test_verify_json(capsys, manifest):
    assert main(["verify", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["problems"] == [] and value["variants"] == len(manifest.variants)


def test_no_objects(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PAGED_ATTN_PREBUILT", str(tmp_path))
    for command in (["list"], ["verify"], ["info", NAME]):
        assert main(command) == 1
        assert "no prebuilt kernels: looked for" in capsys.readouterr().err


def test_a_wrong_command_line(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["lost"])
    assert caught.value.code == 2


def test_doctor(capsys, emulated):
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for said in (
        "hip-python",
        "the emulator of this project (a CPU); the only one",
        "gfx950:sramecc+:xnack-, 256 CUs",
        "variants run on device 0",
    ):
        assert said in text
    assert "[bad " not in text


def test_doctor_json(capsys):
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert [finding["topic"] for finding in findings][:4] == ["package", "kernels", "hip-python", "ROCm"]
    assert {finding["state"] for finding in findings} <= {"ok", "note"}


def test_doctor_without_rocm(fresh_process, tmp_path):
    program = "from paged_attn_runtime.cli import main; raise SystemExit(main(['doctor']))"
    text = fresh_process(program, code=1, ROCM_PATH=str(tmp_path), LD_LIBRARY_PATH="")
    assert "[bad ] HIP" in text and "Set ROCM_PATH" in text


def test_doctor_without_a_device(fresh_process, emulated):
    program = "from paged_attn_runtime.cli import main; raise SystemExit(main(['doctor']))"
    text = fresh_process(program, code=1, GFX950_EMU_DEVICES="0")
    assert "HIP sees no device" in text


def test_doctor_on_a_partition(fresh_process, emulated):
    program = "from paged_attn_runtime.cli import main; raise SystemExit(main(['doctor']))"
    assert "a partition of a device; everything runs, on fewer CUs" in fresh_process(program, GFX950_EMU_CUS="32")


@pytest.mark.slow
def test_selftest_of_every_variant(fresh_process, manifest):
    program = "from paged_attn_runtime.cli import main; raise SystemExit(main(['doctor', '--selftest', '--json']))"
    findings = json.loads(fresh_process(program))
    tests = [finding for finding in findings if finding["topic"].startswith("selftest")]
    assert len(tests) == len(manifest.variants)
    assert {finding["state"] for finding in tests} == {"ok"}


def test_selftest_finds_a_wrong_result(fresh_process, monkeypatch):
    program = """
        from paged_attn_runtime import selftest, cli, catalogue
        entry = catalogue.catalogue().manifest.variants[0]
        assert selftest.run_selftest(entry, 0).passed
        selftest.V_DESCALE = 0.6
        right = selftest._Problem.on_device
        selftest._Problem.on_device = lambda self, device: right(self, device) | {"v_descale": 0.5}
        outcome = selftest.run_selftest(entry, 0)
        assert not outcome.passed
        print(outcome.text)
        """
    assert "rms error 0.1" in fresh_process(program)
