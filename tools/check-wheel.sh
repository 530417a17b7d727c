#!/usr/bin/env bash
# Installs a wheel into an environment of its own and uses it from an empty folder: the command, an example, a paper, the package.
#
#   tools/check-wheel.sh WHEEL
#
# FOREBAY_COMMIT is the commit that its version must have, if it is set.
set -euo pipefail
wheel=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip --quiet --disable-pip-version-check install "$wheel[repro]"
if [ -n "${FOREBAY_COMMIT:-}" ]; then
    env/bin/forebay --version | grep --fixed-strings "commit $FOREBAY_COMMIT"
fi
env/bin/forebay check scenarios/link-failure.toml >check.txt
env/bin/forebay run scenarios/link-failure.toml --quiet --out run
env/bin/forebay repro trim --quick --figure 4 >repro.txt
env/bin/python - <<'PYTHON'
import forebay as fb

result = fb.Scenario.load("scenarios/link-failure.toml").run()
kinds = [str(kind) for kind in result.events["kind"]]
assert kinds.count("link-down") == kinds.count("link-up") == 2, kinds
PYTHON
echo "wheel: $(basename "$wheel") installs and works: check, run, repro, Python"
