#!/usr/bin/env bash
# Builds a Debian package of the command with dpkg-deb, and checks it with lintian where that is installed. The command may be for another processor:
#
#   packaging/pack-deb.sh FOREBAY STAGED VERSION DIR
#
# STAGED is a folder of packaging/stage.sh. The same input and SOURCE_DATE_EPOCH (now, where it is not set) give the same bytes.
# DEB_COMPRESSION=gzip is faster than the default, xz. DEB_MAINTAINER="NAME <ADDRESS>" names another maintainer than the authors in CITATION.cff.
set -euo pipefail
forebay=$1 staged=$2 version=$3-1 dir=$4
root=$(cd "$(dirname "$0")/.." && pwd)
maintainer=${DEB_MAINTAINER:-$(sed -n '/^authors:/,/^[^ ]/s/^ *- name: //p' "$root/CITATION.cff")}
# The package is not uploaded to Debian: it has a bug tracker of its own. Rust libraries are linked statically.
suppressed=initial-upload-closes-no-bugs,embedded-library,bugs-field-does-not-refer-to-debian-infrastructure
case $maintainer in
*\<*\>) signature=$maintainer ;;
*)
    # The project has no mail address. The field Bugs has its bug tracker.
    signature="$maintainer <>"
    suppressed+=,malformed-contact,bogus-mail-host-in-debian-changelog
    ;;
esac
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date +%s)}

case $(LC_ALL=C readelf --file-header "$forebay" | sed -n 's/ *Machine: *//p') in
*X86-64) architecture=amd64 ;;
AArch64) architecture=arm64 ;;
*) echo "$forebay is neither for x86-64 nor for AArch64" >&2 && exit 1 ;;
esac
if ! command -v dpkg-deb >/dev/null 2>&1; then
    echo "Debian packages are built by dpkg-deb, which is not here (Debian: always there; Fedora: dnf install dpkg)." >&2
    exit 1
fi

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
share=$tree/usr/share
doc=$share/doc/forebay
install -D -m 755 "$forebay" "$tree/usr/bin/forebay"
install -D -m 644 -t "$share/man/man1" "$staged"/man/*.1
gzip -9 --no-name "$share"/man/man1/*.1
install -D -m 644 "$staged/completions/forebay.bash" "$share/bash-completion/completions/forebay"
install -D -m 644 "$staged/completions/_forebay" "$share/zsh/vendor-completions/_forebay"
install -D -m 644 "$staged/completions/forebay.fish" "$share/fish/vendor_completions.d/forebay.fish"
install -D -m 644 -t "$doc" "$root/README.md" "$root/THIRD-PARTY-NOTICES"
install -D -m 644 -t "$doc/examples" "$root"/scenarios/*.toml
gzip -9 --no-name <"$root/CHANGELOG.md" >"$doc/changelog.gz"
gzip -9 --no-name >"$doc/changelog.Debian.gz" <<TEXT
forebay ($version) unstable; urgency=medium

  * Release ${version%-*}: see changelog.gz.

 -- $signature  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
TEXT
{
    cat <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: forebay
Source: https://github.com/forebay/forebay
Comment: THIRD-PARTY-NOTICES in this folder has the licenses of the libraries that are linked statically.

Files: *
Copyright: $(sed -n 's/^Copyright (c) //p' "$root/LICENSE-MIT")
License: Apache-2.0 or Expat

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
TEXT
    sed '1,/^Copyright/d; /./,$!d; s/^$/./; s/^/ /' "$root/LICENSE-MIT"
} >"$doc/copyright"

size=$(du -sk --apparent-size "$tree/usr" | cut -f1)
mkdir -p "$tree/DEBIAN"
cat >"$tree/DEBIAN/control" <<TEXT
Package: forebay
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Depends: libc6 (>= 2.28)
Section: net
Priority: optional
Homepage: https://github.com/forebay/forebay
Bugs: https://github.com/forebay/forebay/issues
Description: simulator and toolbox for TCP in data centers
 forebay simulates TCP packet by packet, explains why transfers are slow, and
 tries the changes that an operator can make. One scenario file runs in the
 simulator, in the TCP of a Linux kernel in virtual time, and on the running
 kernel.
 .
 BPF programs for hosts and runs that are divided by MPI need a build from
 source. Reproductions of papers need the Python package.
TEXT
(cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
chmod -R u=rwX,go=rX "$tree"
package=$dir/forebay_${version}_$architecture.deb
find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Z"${DEB_COMPRESSION:-xz}" --build "$tree" "$package" >/dev/null
if command -v lintian >/dev/null 2>&1 && [ -z "${NO_LINTIAN:-}" ]; then
    lintian --fail-on error --suppress-tags "$suppressed" "$package"
fi
echo "$(basename "$package"): $(stat --format=%s "$package") bytes, $size KB installed"
