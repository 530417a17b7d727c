# The steps of "make test" in two rows that run side by side: one uses what cargo builds for development, the other the release builds, so that
# neither waits for the other's build folder. In both rows cheap checks come first. A step begins when the one before it in its row has passed;
# what it prints is shown when it ends. When one fails, the other row stops behind the step it is at.
include Makefile

# The rows are make's; how many jobs a step has is the step's own affair. Cargo would look for make's job server, which steps do not get, and warn.
unexport MAKEFLAGS MFLAGS

.PHONY: every-step
every-step: doc guard

lint: | fmt
kernel: | lint
unit: | kernel
doc: | unit

# Both fill one folder.
$(VENV)/report.installed: | $(VENV)/python.installed

build: | style
scenarios: | build
readme: | scenarios
wheel: | readme
installed: | wheel
python: | installed
repro: | python
report: | repro
guard: | report
