"""The offline build: a YAML matrix and the FlyDSL kernels become code objects and a manifest. Never imported at run time."""
