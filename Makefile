# Two commands are all the set-up: `make demo` and `make test`. Both need Python >= 3.11, a Rust toolchain and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One installed wheel serves all: it is built again when a source of the core or of the package changes.
SOURCES := $(shell find crates -name '*.rs' -o -name '*.[ch]' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

.PHONY: demo test check test-long docs-run install lab wheel wheels wheel-pgo test-wheel lint prose test-rust test-ngtcp2 quiche test-python fuzz fuzzer soak fuzz-parsers fuzz-seeds audit audit-offline mutants lock bench budgets reproduce counts validate course gallery front-page notebooks packs docs man web test-web twin twin-quick clean

demo: install
	$(BIN)/windtunnel reproduce mds --quick --force --out results/mds-quick

# Ends with a table of the seconds that each step took; one that took twice its budget is an error.
test:
	$(PYTHON) python/tools/steps.py install lab lint test-rust test-python

# While you work: format, lint, types and tests of what changed since this branch left main (BASE=HEAD: since the last
# commit). It builds nothing anew, so Python's tests see the core of the last `make install`.
check:
	@test -e $(VENV)/.installed || $(MAKE) install
	$(BIN)/python python/tools/check.py $(BASE)

install: $(VENV)/.installed

$(VENV)/.created: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "windtunnel needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes --requirement requirements.lock
	touch $@

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	$(BIN)/maturin develop --profile shipped
	touch $@

# The core for browsers (`rustup target add wasm32-unknown-unknown`; without it this is skipped).
LAB := python/windtunnel/lab/assets/lab.wasm.gz
lab: $(LAB)

$(LAB): $(SOURCES) python/tools/lab.py
	$(PYTHON) python/tools/lab.py

# One wheel for all versions of Python, which installs without a Rust toolchain; it has the binary that `install` builds.
wheel: install lab
	rm -rf dist
	$(BIN)/maturin build --quiet --profile shipped --out dist
	@ls dist

# It, and a look at whether the crates compile for other systems (.github/workflows/wheels.yml builds their wheels).
wheels: wheel
	$(PYTHON) python/tools/targets.py

# The same, laid out for what the works of the bench do often (`rustup component add llvm-tools`): two builds and a run.
wheel-pgo: install lab
	rm -rf dist
	$(BIN)/maturin build --quiet --pgo --profile shipped --out dist
	@ls dist

# Not a part of `make test`: it installs all libraries once more.
test-wheel: wheel
	$(BIN)/python python/tools/try_wheel.py dist

# The type checker reads the installed libraries, so the wheel comes first.
lint: install
	cargo fmt --all --check
	cargo fmt --manifest-path examples/rust-plugin/Cargo.toml --check
	cargo fmt --manifest-path examples/quiche/Cargo.toml --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p windtunnel-cc --no-default-features --example alone -- -D warnings
	$(BIN)/ruff check python examples fuzz docs
	$(BIN)/ruff format --check python examples fuzz docs
	$(BIN)/mypy
	$(BIN)/python python/tools/prose.py

# Phrases that read as a translation, names of variables that say nothing, and long lines of Markdown;
# python/tools/prose.toml says what to write instead.
prose: install
	$(BIN)/python python/tools/prose.py

test-rust:
	cargo test --workspace --quiet

# ngtcp2, built in from the folder that NGTCP2_SOURCE names, and as a shared library (docs/how-to/quic-stack.md).
test-ngtcp2:
ifdef NGTCP2_SOURCE
	cargo test -p windtunnel-quic --features ngtcp2 --test stacks ngtcp2
else
	@echo "skipped: NGTCP2_SOURCE does not name the folder of ngtcp2's sources; docs/how-to/quic-stack.md has the commands"
endif

# A program that sends over QUIC with quiche, for `windtunnel emulate` (examples/quiche): its test is skipped without it.
# BoringSSL takes minutes, and needs cmake and libclang.
quiche:
	cargo build --release --locked --manifest-path examples/quiche/Cargo.toml

# Two processes, each with whole files of tests.
test-python: install
	$(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder

# Tests that take minutes: every command that the documents print, their pictures, and commands interrupted at many moments.
# PART=1/2 leaves out every second one of Python's.
test-long: install
	cargo test --workspace --quiet -- --ignored
	$(BIN)/pytest -q -m long -n 2 --dist load $(if $(PART),--part=$(PART))

# The commands of the documents alone, with the time of each (FAMILIES="course tutorial" for some).
docs-run: install
	$(BIN)/python docs/printed.py $(FAMILIES)

# Random input of every kind, longer than `make test` allows: FUZZ_SECONDS for each of six kinds. A case that fails is written to
# results/, with the command that tries it again.
FUZZ_SECONDS ?= 150
FUZZ = target/fuzz/examples/fuzz
fuzz: install fuzzer
	$(FUZZ) texts --seconds $(FUZZ_SECONDS)
	$(FUZZ) runs --seconds $(FUZZ_SECONDS)
	$(FUZZ) relations --seconds $(FUZZ_SECONDS) --events 30000
	$(BIN)/python -m fuzz.attacks files --seconds $(FUZZ_SECONDS)
	$(BIN)/python -m fuzz.attacks commands --seconds $(FUZZ_SECONDS)
	$(BIN)/python -m fuzz.attacks kills --seconds $(FUZZ_SECONDS)

fuzzer:
	cargo build --profile fuzz -p windtunnel-scenario --example fuzz

# All relations between runs, what is recorded among them, on seeds that no search had before (the time gives them), for
# MINUTES: after a change of the simulator, and before a release. It prints the seeds; FIRST_SEED=N tries them again. A
# scenario that fails is written to results/; a copy of it in crates/scenario/tests/scenario/found is a test from then on.
MINUTES ?= 30
FIRST_SEED ?= $(shell date +%s)000
soak: fuzzer
	$(FUZZ) relations --seconds $$(($(MINUTES) * 60)) --events 30000 --seed $(FIRST_SEED)

# The parsers under libFuzzer, which needs a nightly compiler and `cargo install cargo-fuzz`. What it finds new grows
# fuzz/corpus; `make fuzz-seeds` takes the least part of it that reaches as much into the repository.
fuzz-parsers: install
	mkdir -p fuzz/corpus && $(BIN)/python fuzz/dictionary.py > fuzz/corpus/scenario.dict
	for target in capture qlog scenario setting trace; do mkdir -p fuzz/corpus/$$target && tar -xf fuzz/seeds/$$target.tar -C fuzz/corpus/$$target && \
	cargo +nightly fuzz run -O --debug-assertions $$target fuzz/corpus/$$target -- \
	-dict=fuzz/corpus/scenario.dict -max_len=8192 -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 || exit 1; done

fuzz-seeds:
	$(PYTHON) fuzz/seeds.py

# Licences, duplicates, origins and known flaws of what is built in (`cargo install cargo-deny`). The flaws need the network.
audit: audit-offline
	cargo deny check advisories

audit-offline:
	cargo deny check -A license-exception-not-encountered bans licenses sources
	cargo deny --manifest-path fuzz/Cargo.toml --config deny.toml check bans licenses sources

# Changes of the algorithms that no test notices (`cargo install cargo-mutants`): days, or MUTANTS="--shard 1/100".
mutants:
	cargo mutants $(MUTANTS) --gitignore true --package windtunnel-cc --package windtunnel-qdisc --package windtunnel-tcp

# Newest versions of all Python packages.
lock: install
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --upgrade --generate-hashes \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links --output-file requirements.lock

bench: install
	$(BIN)/windtunnel bench

# Counts what packets cost (with valgrind), and writes the budgets of python/tests/test_instructions.py.
budgets: install
	$(BIN)/python python/tests/test_instructions.py

# The paper suites, each whole (SUITES="sce dualq" for some).
SUITES ?= mds mds-deployment aimd sce dualq l4s-tests c4 talk
reproduce: install
	for suite in $(SUITES); do $(BIN)/windtunnel reproduce $$suite --force --out results/$$suite || exit 1; done

# How the suites in results/ came out, into docs/counts.toml and the documents that say so (SUITES="sce dualq" for some).
counts: install
	$(BIN)/python docs/counts.py $(SUITES:%=results/%)

# Numbers and pictures of the course and of the gallery, from their scenarios.
course: install
	$(BIN)/python docs/measured.py course

gallery: install
	$(BIN)/python docs/measured.py gallery

# The picture of a page, at the top of the README (needs Chromium).
front-page: install
	$(BIN)/python docs/front_page.py

# Outputs of the notebooks.
notebooks: install
	$(BIN)/python docs/notebooks/notebooks.py

# Evidence packs of the documentation, from results/packs.
packs: install
	$(BIN)/python docs/packs/packs.py

# Writes the page that compares the TCP with RFCs, laws and the Linux stack.
validate: install
	$(BIN)/windtunnel validate --out docs/validation.md

# Every controller of the real kernel over its queues, next to the simulator, and the page of it: about two hours of one core,
# with a kernel that `windtunnel kernel build` has made. What guests wrote is kept in results/twin, and the same command
# goes on where it ended. ONLY=PATTERN: some cells (no page); DRAWS=N, JOBS=N.
TRUTH = $(BIN)/python -m windtunnel.twin.truth --keep results/twin $(if $(JOBS),--jobs $(JOBS)) $(if $(DRAWS),--draws $(DRAWS))
twin: install
	$(TRUTH) $(if $(ONLY),--only '$(ONLY)',--page docs/validation-kernel.md)

# Ten cells of it in about a minute; without a kernel it says why it is skipped.
twin-quick: install
	$(TRUTH) --quick

# Trains the model with which `windtunnel explain` names controllers, and writes the page about it: about a quarter of an hour of
# two cores. After a change that moves windows; the same version gives the same bytes.
train-explain: install
	$(BIN)/python -m windtunnel.explain.train

# The site of all documents, in docs/_build/html; a warning is an error.
docs: install lab
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html docs docs/_build/html
	@echo docs/_build/html/index.html

# Manual pages of the commands, which the wheel brings along.
man: install
	$(BIN)/python python/tools/man_pages.py

# The page's script is committed; this builds it again after a change in web/ (needs Node.js).
web:
	cd web && npm ci && npm run build

# Types and unit tests of the page's script (needs Node.js and the npm registry).
test-web:
	cd web && npm ci && npm run check && npm test

clean:
	rm -rf target $(VENV) results dist docs/_build docs/generated docs/figures
