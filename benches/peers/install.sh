#!/bin/sh
# Installs the two peers that "make bench" and "make peers" compare with: ns-2 (package ns2)
# and ns-3 (packages libns3-dev and g++), from the system's own package sources.
# A peer that cannot be had is no error: the others are then reported. So
# this script says in one line what is missing and why, and always ends with 0.
set -u

have_ns2() { command -v ns >/dev/null 2>&1; }
have_ns3() { [ -e /usr/include/ns3/core-module.h ] && command -v "${CXX:-g++}" >/dev/null 2>&1; }

updated=no
# install PACKAGE... : quiet; on failure $why holds the last line of the log
install() {
    if [ "$(id -u)" != 0 ]; then why="not root"; return 1; fi
    if ! command -v apt-get >/dev/null 2>&1; then why="no apt-get here"; return 1; fi
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    if ! apt-get install -y --no-install-recommends "$@" >"$log" 2>&1; then
        # A fresh machine has empty or old package lists.
        if [ $updated = no ]; then
            apt-get update >/dev/null 2>&1
            updated=yes
        fi
        if ! apt-get install -y --no-install-recommends "$@" >"$log" 2>&1; then
            # apt's first error line, less anything that looks like an address
            why=$(grep -m1 '^E:' "$log" | sed 's/[a-z]*:\/\/[^ ]*/(address)/g')
            why=${why:-apt-get install failed}
            rm -f "$log"
            return 1
        fi
    fi
    rm -f "$log"
}

why=""
have_ns2 || install ns2
if have_ns2; then echo "ns2: available"; else echo "ns2: unavailable, ${why:-installed, but no ns on the PATH}"; fi

why=""
have_ns3 || install libns3-dev g++
if have_ns3; then echo "ns3: available"; else echo "ns3: unavailable, ${why:-installed, but no headers or compiler found}"; fi
exit 0
