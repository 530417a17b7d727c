#!/bin/sh
# Builds the ns-3 program: build.sh [OUTPUT], by default ./bench beside this
# script. The libraries are named directly because the flags that the packaged
# pkg-config files give contain a stray ";" that breaks a shell command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/bench}
if [ ! -e /usr/include/ns3/core-module.h ]; then
    echo "ns3: unavailable, headers not found (install libns3-dev)" >&2
    exit 1
fi
exec "${CXX:-g++}" -std=c++17 -O2 -o "$out" "$here/bench.cc" \
    -lns3-internet -lns3-point-to-point -lns3-traffic-control -lns3-network -lns3-core
