"""python -m paged_attn_runtime"""

import sys

from .cli import main

sys.exit(main())
