#!/bin/busybox sh
# The first process of a kernel under emulation (tools/emulated-kernels.sh): attaches every program, lets a connection pass through it,
# detaches. Lines that begin with RESULT are read.
busybox=/bin/busybox
$busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /run
mkdir -p /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t bpf none /sys/fs/bpf
for module in veth sch_ingress cls_bpf inet_diag tcp_diag; do [ ! -e /modules/$module.ko ] || insmod /modules/$module.ko; done
forebay=@FOREBAY@ ip=@IP@ kernel=$(uname -r)
say() { echo "RESULT $kernel | $*"; }
# Two hosts: this one and a namespace.
$ip link set lo up
mkdir -p /run/netns
$ip netns add far
$ip link add near type veth peer name far netns far
$ip address add 10.77.0.1/24 dev near
$ip link set near up
$ip -n far address add 10.77.0.2/24 dev far
$ip -n far link set far up
dd if=/dev/urandom of=/tmp/sent bs=1024 count=500 2>/dev/null
port=4000
# 500 KB to the other host; emulation takes its time.
carry() {
  port=$((port + 1))
  rm -f /tmp/got
  # It ends with its input.
  sleep 90 | nsenter --net=/run/netns/far nc -l -p $port >/tmp/got &
  listener=$!
  sleep 2
  nc 10.77.0.2 $port </tmp/sent >/dev/null &
  sender=$!
  for _ in $(seq 60); do
    sleep 1
    ! cmp -s /tmp/sent /tmp/got || break
  done
  kill $listener $sender 2>/dev/null
  cmp -s /tmp/sent /tmp/got
}
carry || say "no program | the bytes did not arrive"
for program in rns dctcp l2dct d2tcp trim prin pias proboscis; do
  if said=$($forebay attach $program --dst 10.77.0.0/24 2>&1); then
    if carry; then what="attached, 500 KB carried"; else what="attached, but the bytes did not arrive"; fi
    counted=$($forebay status 2>/dev/null | sed -n 's/^ *counters: //p' | tr ',' '\n' | grep -cv ' 0$')
    $forebay detach $program >/dev/null 2>&1 || what="$what; could not be detached"
    say "$program | $what, $counted counters moved"
  else
    say "$program | refused: $(echo "$said" | tr '\n' ' ' | cut -c1-300)"
  fi
done
echo "RESULT end"
poweroff -f
