# The steps of "make test" in two rows that run side by side: one begins with what cargo builds for development, the other with the optimised wheel, so
# that neither waits for the other's build folder. In both rows cheap checks come first. A step begins when the one before it in its row has passed;
# what it prints is shown when it ends. When one fails, the other row stops behind the step it is at.
#
# The optimised command is the one that the wheel carries: the release build would compile everything once more.
FOREBAY = $(VENV)/bin/forebay
include Makefile

# The seconds of each line are printed after it, and written to target/test-times.csv with its step.
SHELL := tools/timed.sh
.SHELLFLAGS = step:$@ -euo pipefail -c

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

wheel: | style
installed: | wheel
scenarios: | installed
readme: | scenarios
python: | readme
repro: | python
# Of what is built for development, but a browser is what takes the time.
report: | repro
# Of an optimised build that nothing else needs; what it counts does not depend on what runs beside it.
guard: | report
