# Files of a release, in target/dist: docs/internals/releasing.md. Included by the Makefile.
RELEASE_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
# Link-time optimization and a panic that ends no interpreter. A dry run takes the profile fast.
RELEASE_PROFILE ?= wheel
# Debian 10, RHEL 8 and later. zig links against these versions of symbols, with any glibc here.
GLIBC := 2.28
VERSION = $(shell sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
DIST := $(abspath $(TARGET))/dist
ZIG := $(abspath $(TARGET))/zig
# Times in packages are that of the commit.
STAMP := SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct)
STAGED := $(abspath $(TARGET))/package
# The commit that `forebay --version` prints (crates/forebay/build.rs).
COMMIT := $(shell git log -1 --abbrev=12 --format='%h, %cs' 2>/dev/null)
# cargo-zigbuild and zig come with python/requirements-wheels.txt.
WITH_ZIG := FOREBAY_COMMIT="$(COMMIT)" PATH=$(abspath $(VENV))/bin:$$PATH CARGO_TARGET_DIR=$(ZIG)

.PHONY: dist dist-check sdist wheels binaries staged archives deb sums release release-dry-run artifact artifact-refresh release-targets

release-targets: setup $(VENV)/python.installed $(VENV)/wheels.installed
	@mkdir -p $(DIST)
	@tools/setup.sh $(addprefix --with-target=,$(RELEASE_TARGETS))

dist: ## pack the source archive, target/dist/forebay-*-source.tar.gz: every file of the commit (git)
	@git rev-parse --verify --quiet HEAD >/dev/null || { echo "make dist packs a commit: run it in a checkout with git." >&2; exit 1; }
	@mkdir -p $(DIST)
	git archive --format=tar --prefix=forebay-$(VERSION)/ HEAD | gzip -9 --no-name >$(DIST)/forebay-$(VERSION)-source.tar.gz

# ARCHIVE_TESTS="make test" runs every test in the unpacked archive.
ARCHIVE_TESTS ?=
dist-check: dist ## build and test the source archive, unpacked in a folder of its own without git (minutes)
	packaging/check-archive.sh $(DIST)/forebay-$(VERSION)-source.tar.gz $(ARCHIVE_TESTS)

sdist: release-targets # what pip builds where there is no wheel
	$(MATURIN) sdist --out $(DIST)

# From the unpacked archive, so that it is complete.
wheels: sdist ## build wheels for manylinux_2_28 (x86-64 and AArch64) from the Python source archive; test the one for this machine
	rm -rf $(TARGET)/archive && mkdir -p $(TARGET)/archive
	rm -f $(DIST)/forebay-*.whl
	tar -xzf $(DIST)/forebay-$(VERSION).tar.gz -C $(TARGET)/archive
	# The archive has some crates of the workspace: the first command of cargo in it drops the others from Cargo.lock, which --locked refuses.
	cd $(TARGET)/archive/forebay-$(VERSION) && cargo metadata --format-version 1 >/dev/null && for target in $(RELEASE_TARGETS); do \
	  $(WITH_ZIG) maturin build --locked --quiet --zig --target $$target --profile $(RELEASE_PROFILE) --compatibility manylinux_$(subst .,_,$(GLIBC)) \
	    --out $(DIST); done
	packaging/check-glibc.sh $(GLIBC) $(DIST)/forebay-*.whl
	for wheel in $(DIST)/forebay-*$(firstword $(subst -, ,$(HOST))).whl; do \
	  if [ -e "$$wheel" ]; then PYTHON=$(abspath $(VENV))/bin/python FOREBAY_COMMIT="$(COMMIT)" tools/check-wheel.sh "$$wheel"; fi; done

# `forebay` without BPF and MPI, which need libraries of the target.
binaries: release-targets
	$(WITH_ZIG) cargo-zigbuild zigbuild --locked --profile $(RELEASE_PROFILE) -p forebay --bin forebay \
	  $(foreach target,$(RELEASE_TARGETS),--target $(target).$(GLIBC))
	packaging/check-glibc.sh $(GLIBC) $(foreach target,$(RELEASE_TARGETS),$(ZIG)/$(target)/$(RELEASE_PROFILE)/forebay)
	$(if $(filter $(HOST),$(RELEASE_TARGETS)),$(ZIG)/$(HOST)/$(RELEASE_PROFILE)/forebay --version | grep --fixed-strings "commit $(COMMIT)")

# Manual pages and completions are the same for all machines: from the command named, or from the one for this machine.
STAGING_COMMAND ?= $(ZIG)/$(HOST)/$(RELEASE_PROFILE)/forebay
staged: $(if $(filter $(ZIG)/%,$(STAGING_COMMAND)),binaries)
	packaging/stage.sh $(STAGING_COMMAND) $(STAGED)

archives: binaries staged ## build the archives with the command that cargo-binstall installs, target/dist/forebay-*-linux-gnu.tar.gz
	for target in $(RELEASE_TARGETS); do \
	  $(STAMP) packaging/pack-binary.sh $(ZIG)/$$target/$(RELEASE_PROFILE)/forebay $(STAGED) $(DIST)/forebay-$(VERSION)-$$target.tar.gz; done

deb: binaries staged ## build Debian packages with manual pages and completions, target/dist/forebay_*.deb (dpkg-deb)
	for target in $(RELEASE_TARGETS); do \
	  $(STAMP) packaging/pack-deb.sh $(ZIG)/$$target/$(RELEASE_PROFILE)/forebay $(STAGED) $(VERSION) $(DIST); done

sums: # names without folders, so that `sha256sum --check` works where the files are downloaded
	packaging/release-notes.sh $(VERSION) >$(DIST)/NOTES.md
	cd $(DIST) && rm -f SHA256SUMS && sha256sum forebay* >SHA256SUMS

release: ## build and check every file of a release in target/dist: archives, wheels, Debian packages, notes, sums
	rm -rf $(DIST)
	$(MAKE) dist-check wheels archives deb
	$(MAKE) sums

# Everything that publishing does up to the upload, for one target with little optimization.
release-dry-run: ## try all steps of a release that need no upload, for this machine, with the profile fast
	$(MAKE) release RELEASE_PROFILE=fast RELEASE_TARGETS=$(HOST)

artifact: installed ## run the artifact evaluation of the papers: target/repro/artifact/ARTIFACT.md
	$(VENV)/bin/python -m forebay.repro --artifact --out $(TARGET)/repro/artifact

artifact-refresh: ## renew papers/artifact.csv and papers/ARTIFACT.md from the last "make artifact"
	cp $(TARGET)/repro/artifact/artifact.csv papers/artifact.csv
	UPDATE_DOCS=1 $(VENV)/bin/python -m pytest -q tests/python/repro/test_artifact.py
