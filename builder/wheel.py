"""The step of the wheel's build that takes the code objects in: pyproject.toml names it under [tool.setuptools.cmdclass].

A wheel is not built from a missing, partial or stale prebuilt/. An editable install takes nothing in: it finds the checkout's own.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # a build front end imports this file alone
    sys.path.insert(0, str(ROOT))

from builder.completeness import shortcomings  # noqa: E402
from builder.matrix import ConfigError, read_matrix  # noqa: E402

CONFIG = "configs/gfx950.yaml"
PACKAGE, FOLDER = "paged_attn_runtime", "prebuilt/gfx950"
SHOWN = 10


class BuildPy(build_py):
    """build_py, with prebuilt/gfx950 inside the package."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        self._refuse_what_cannot_be_shipped()
        package = Path(self.build_lib) / PACKAGE
        shutil.rmtree(package, ignore_errors=True)  # setuptools would keep what an earlier build left there
        super().run()
        shutil.copytree(ROOT / FOLDER, package / FOLDER)

    def _refuse_what_cannot_be_shipped(self) -> None:
        try:
            found = shortcomings(ROOT, ROOT / FOLDER, read_matrix(ROOT / CONFIG, shown=CONFIG))
        except ConfigError as error:
            raise SetupError(str(error)) from None
        if found:
            more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            listed = "\n".join(f"  {text}" for text in found[:SHOWN] + more)
            raise SetupError(
                f"{FOLDER} cannot be shipped:\n{listed}\nBuild it with: make kernels (or python build_kernels.py)"
            )

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        outputs = super().get_outputs(include_bytecode)
        if not self.editable_mode:
            outputs += [str(Path(self.build_lib) / PACKAGE / FOLDER / path.name) for path in (ROOT / FOLDER).iterdir()]
        return outputs
