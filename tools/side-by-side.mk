# The steps of "make test" in two rows that run side by side: one uses what cargo builds for development, the other the optimised builds, so that
# neither waits for the other's build folder. In both rows cheap checks come first. A step begins when the one before it in its row has passed;
# what it prints is shown when it ends. When one fails, the other row stops behind the step it is at.
#
# The optimised command is the one that the wheel carries: the release build would compile everything once more.
FOREBAY = $(VENV)/bin/forebay
include Makefile

# The rows are make's; how many jobs a step has is the step's own affair. Cargo would look for make's job server, which steps do not get, and warn.
unexport MAKEFLAGS MFLAGS

.PHONY: every-step
every-step: doc report

lint: | fmt
kernel: | lint
unit: | kernel
doc: | unit

# Both fill one folder.
$(VENV)/report.installed: | $(VENV)/python.installed

wheel: | style
installed: | wheel
scenarios: | installed
readme: | scenarios
python: | readme
repro: | python
guard: | repro
# Of what is built for development, but a browser is what takes the time.
report: | guard
