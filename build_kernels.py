"""The offline build: configs/ and kernels/ become prebuilt/gfx950/*.hsaco and its manifest. `--help` lists the options."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    try:
        from builder.command_line import main
    except ModuleNotFoundError as error:
        if error.name != "yaml":
            raise
        sys.exit("build_kernels: PyYAML is not installed: pip install PyYAML")
    sys.exit(main(ROOT))
