#!/bin/sh
# Builds an ns-3 program: build.sh [OUTPUT [SOURCE]], by default ./bench beside this
# script. The libraries are named directly because the flags that the packaged
# pkg-config files give contain a stray ";" that breaks a shell command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/bench}
source=${2:-bench.cc}
if [ ! -e /usr/include/ns3/core-module.h ]; then
    echo "ns3: unavailable, headers not found (install libns3-dev)" >&2
    exit 1
fi
exec "${CXX:-g++}" -std=c++17 -O2 -o "$out" "$here/$source" \
    -lns3-internet -lns3-point-to-point -lns3-traffic-control -lns3-network -lns3-core
