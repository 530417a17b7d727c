#!/bin/bash
# Boots kernels of Debian under software emulation and attaches each program there.
#
#   tools/emulated-kernels.sh FOREBAY [PACKAGE...]      packages linux-image-*-unsigned; without any the newest of 6.1 and of 6.12
#
# Prints a line for each program: kernel, program, whether it was attached and carried a connection, and its error message if not.
# Needs qemu-system-x86, busybox-static, cpio and iproute2 (apt). A kernel takes one to three minutes on one core.
set -euo pipefail

forebay=$(realpath "$1")
shift
work=$(mktemp -d)
chmod 755 "$work" # apt downloads as another user
trap 'rm -rf "$work"' EXIT
for tool in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio ip:iproute2; do
  command -v "${tool%%:*}" >/dev/null || { echo "no ${tool%%:*}: apt-get install ${tool##*:}" >&2; exit 1; }
done
newest() { apt-cache search --names-only "^linux-image-$1\..*-cloud-amd64-unsigned\$" | cut -d' ' -f1 | sort -V | tail -1; }
packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=("$(newest 6.1)" "$(newest 6.12)")

# A program and what it is linked with.
with_libraries() {
  install -D "$1" "$2$1"
  for file in $(ldd "$1" | grep -o '/[^ ]*'); do [ -e "$2$file" ] || install -D "$file" "$2$file"; done
}

boot() {
  local package=$1 root=$work/root
  rm -rf "$root" "$work/package" && mkdir -p "$root"/{bin,proc,sys,dev,run,tmp,modules} "$work/package"
  (cd "$work" && apt-get -qq download "$package")
  dpkg-deb --fsys-tarfile "$work/$package"_*.deb | tar -x -C "$work/package"
  cp "$(command -v busybox)" "$root/bin/busybox"
  with_libraries "$forebay" "$root"
  with_libraries "$(realpath "$(command -v ip)")" "$root"
  # Modules of these kernels, in the order in which they are loaded.
  for module in veth sch_ingress cls_bpf inet_diag tcp_diag; do
    find "$work/package/lib/modules" -name "$module.ko*" -exec cp {} "$root/modules/" \;
  done
  for packed in "$root"/modules/*.xz; do [ ! -e "$packed" ] || unxz "$packed"; done
  sed -e "s|@FOREBAY@|$forebay|" -e "s|@IP@|$(realpath "$(command -v ip)")|" "$(dirname "$0")/emulated-init.sh" >"$root/init"
  chmod +x "$root/init"
  (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"
  timeout 600 qemu-system-x86_64 -M q35 -cpu max -m 2048 -nographic -no-reboot -kernel "$work"/package/boot/vmlinuz-* -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1" </dev/null >"$work/console" 2>&1 || true
  tr -d '\r' <"$work/console" | sed -n 's/^.*RESULT //p' >"$work/results"
  if ! grep -q '^end$' "$work/results"; then
    echo "$package did not come to its end; the last it said:" >&2
    tail -20 "$work/console" >&2
    return 1
  fi
  grep -v '^end$' "$work/results"
}

for package in "${packages[@]}"; do boot "$package"; done
