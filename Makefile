# Everything a newcomer runs. Each target sets up what it needs; `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
# FlyDSL needs a torch to be there. One that $(PYTHON) can import already is used; otherwise this is installed.
TORCH_SPEC ?= torch==2.13.0
JOBS ?= $(shell nproc)
CONFIG ?= configs/gfx950.yaml

# A node with ROCm and a gfx950 uses it; any other machine uses the emulator. TARGET=emulator|gpu decides it by hand.
GFX950_NODE := $(shell grep -l 'gfx_target_version 90500' /sys/class/kfd/kfd/topology/nodes/*/properties 2>/dev/null)
TARGET ?= $(if $(GFX950_NODE),gpu,emulator)
EMULATOR_ROCM := $(CURDIR)/emulator/build/rocm
ifeq ($(TARGET),emulator)
RUN_ENV := ROCM_PATH=$(EMULATOR_ROCM) LD_LIBRARY_PATH=$(EMULATOR_ROCM)/lib
DEVICE := emulator
endif

BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The programs nobody here wrote (Triton kernels and objects of public wheels), and the older hip-python: environments of their own.
CONFORMANCE_VENV := .venv-conformance
CONFORMANCE_READY := $(CONFORMANCE_VENV)/.ready
HIP72_VENV := .venv-hip72
HIP72_READY := $(HIP72_VENV)/.ready

MAKEFLAGS += --no-print-directory

.PHONY: help demo test test-fast setup conformance-venv emulator kernels lint wheel install soak clean

help:            ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: kernels $(DEVICE)   ## build everything and run a serving-shaped problem, checked against float64
	$(RUN_ENV) $(BIN)/python -m examples.demo

test: kernels emulator $(CONFORMANCE_READY) $(HIP72_READY)   ## all tests, lint included
	CI_TARGET=$(TARGET) VENV=$(VENV) CONFORMANCE_VENV=$(CURDIR)/$(CONFORMANCE_VENV) HIP72_PYTHON=$(CURDIR)/$(HIP72_VENV)/bin/python scripts/run-tests

test-fast: kernels emulator   ## the tests that are not marked slow
	$(RUN_ENV) $(BIN)/python -m pytest -m "not slow" -q

setup: $(READY)           ## Debian packages and the virtual environment

$(READY): pyproject.toml scripts/install-system-packages
	scripts/install-system-packages
	@echo "== virtual environment in $(VENV)"
	@if $(PYTHON) -c 'import torch' 2>/dev/null; then \
	    echo "   using the torch of $(PYTHON)"; $(PYTHON) -m venv --system-site-packages $(VENV); \
	else \
	    $(PYTHON) -m venv $(VENV) && $(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install '$(TORCH_SPEC)'; \
	fi
	$(BIN)/python -m pip install -e '.[build,test]'
	@touch $@

conformance-venv: $(CONFORMANCE_READY)   ## Triton and the wheels whose kernels the emulator has to run

$(CONFORMANCE_READY): tests/emulator/conformance/requirements.txt
	@echo "== foreign programs in $(CONFORMANCE_VENV)"
	$(PYTHON) -m venv $(CONFORMANCE_VENV)
	$(CONFORMANCE_VENV)/bin/python -m pip install --no-deps -r $<
	@touch $@

$(HIP72_READY): pyproject.toml
	@echo "== hip-python 7.2 in $(HIP72_VENV)"
	$(PYTHON) -m venv $(HIP72_VENV)
	$(HIP72_VENV)/bin/python -m pip install 'hip-python==7.2.2.562.43' 'ml_dtypes==0.6.0' 'numpy>=2.0' 'pytest==9.2.0' 'hypothesis==6.170.17' \
	    'pyelftools==0.33' 'msgpack==1.2.4'
	@touch $@

emulator: $(READY)        ## the gfx950 emulator: emulator/build/rocm/lib/libamdhip64.so
	@echo "== emulator"
	@cmake -S emulator -B emulator/build -DCMAKE_BUILD_TYPE=Release > emulator/.configure.log 2>&1 || { cat emulator/.configure.log; exit 1; }
	@rm -f emulator/.configure.log
	cmake --build emulator/build -j$(JOBS)

kernels: $(READY)         ## compile the matrix (CONFIG=...) into prebuilt/; unchanged variants are kept
	$(BIN)/python build_kernels.py --config $(CONFIG) --jobs $(JOBS)

lint: $(READY)            ## ruff over the Python sources
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

wheel: kernels            ## dist/paged_attn_runtime-*.whl with the code objects inside
	$(BIN)/python -m pip wheel --no-deps --wheel-dir dist .

install: wheel            ## install that wheel into the environment of PYTHON
	$(PYTHON) -m pip install --force-reinstall --no-deps dist/paged_attn_runtime-*.whl

soak: kernels             ## ten minutes of broken code objects against an emulator with sanitizers
	cmake -S emulator -B emulator/build-sanitize -DCMAKE_BUILD_TYPE=Release -DGFX950_EMU_SANITIZE=ON
	cmake --build emulator/build-sanitize -j$(JOBS)
	$(BIN)/python -m tests.emulator.fuzz.soak emulator/build-sanitize/rocm/lib/libamdhip64.so

clean:                    ## remove what was built (not the virtual environment)
	rm -rf emulator/build emulator/build-sanitize build dist *.egg-info
	find prebuilt -mindepth 1 ! -name README.md -delete
