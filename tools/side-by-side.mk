# The steps of "make test" in three rows that run side by side. The first begins with what cargo builds for development, the second with the optimized
# package, so that neither waits for the other's build folder. The third begins when the tests are built and waits most of the time. A step begins when the
# one before it in its row has passed; what it prints is shown when it ends. When one fails, the other rows stop behind the step they are at.
#
# The optimized command is the one that the package carries: another one would be linked once more.
FOREBAY = $(VENV)/bin/forebay
include Makefile

# The seconds of each line are printed after it, and written to target/test-times.csv with its step.
SHELL := tools/timed.sh
.SHELLFLAGS = step:$@ -euo pipefail -c

# The rows are make's; how many jobs a step has is the step's own affair. Cargo would look for make's job server, which steps do not get, and warn.
unexport MAKEFLAGS MFLAGS

.PHONY: every-step
every-step: unit report fuzz-smoke test-hosts

# The tests are built before they are linted: the third row, which takes as long as any of these steps, waits for them.
tests: | fmt
lint: | tests
doc: | lint
kernel: | doc
unit: | kernel

# Both fill one folder.
$(VENV)/report.installed $(VENV)/deny.installed: | $(VENV)/python.installed

package: | style
installed: | package
# Its counts do not depend on other processes.
guard: | installed
scenarios: | guard
torture: | scenarios
readme: | torture
docs: | readme
python: | docs
repro: | python
# Of what is built for development, but a browser is what takes the time.
report: | repro tests
fuzz-smoke: | report

test-hosts: | tests
