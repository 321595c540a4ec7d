# Two commands are all the set-up: `make demo` and `make test`. Both need Python >= 3.11, a Rust toolchain and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One installed wheel serves all: it is built again when a source of the core or of the package changes.
SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

.PHONY: demo test install lint test-rust test-python fuzz bench reproduce validate web clean

demo: install
	$(BIN)/windtunnel reproduce mds --quick --force --out results/mds-quick

test: lint test-rust test-python

install: $(VENV)/.installed

$(VENV)/.created: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "windtunnel needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group dev
	touch $@

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	$(BIN)/maturin develop --profile shipped
	touch $@

# The type checker reads the installed libraries, so the wheel comes first.
lint: install
	cargo fmt --all --check
	cargo fmt --manifest-path examples/rust-plugin/Cargo.toml --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python examples
	$(BIN)/ruff format --check python examples
	$(BIN)/mypy

test-rust:
	cargo test --workspace --quiet

test-python: install
	$(BIN)/pytest -q

# Longer than `make test` allows: ten minutes of random input to the scenario parser, and of random scenarios with the
# core's own assertions on. A scenario that fails is written to results/.
fuzz:
	cargo run --release -p windtunnel-scenario --example fuzz -- --seconds 120
	cargo run -p windtunnel-scenario --example fuzz_runs -- --seconds 480

bench: install
	$(BIN)/windtunnel bench

reproduce: install
	$(BIN)/windtunnel reproduce mds --force --out results/mds
	$(BIN)/windtunnel reproduce aimd --force --out results/aimd

# Writes the page that compares the TCP with RFCs, laws and the Linux stack.
validate: install
	$(BIN)/windtunnel validate --out docs/validation.md

# The page's script is committed; this builds it again after a change in web/ (needs Node.js).
web:
	cd web && npm ci && npm run build

clean:
	rm -rf target $(VENV) results
