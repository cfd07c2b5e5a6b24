"""The README's first program runs as it stands, and prints what it says it prints."""

import re
import subprocess
import sys

from tests.conftest import ROOT


def test_the_first_program(prebuilt, tmp_path):
    (program,) = re.findall(r"```python\n(import numpy.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "first.py").write_text(program)
    done = subprocess.run([sys.executable, str(tmp_path / "first.py")], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(5, 16, 128) 0x4000\n"
    assert done.stdout.strip() in program.replace("# (", "(")


def test_every_link_leads_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make ([a-z][a-z-]*)", (ROOT / "README.md").read_text()):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
