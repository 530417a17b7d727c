# ns-2 side of "make bench": one case, one JSON line on stdout.
#
#   ns bench.tcl CASE [SIM_S] [SEED] [key=value ...]
#     CASE   s1 s2 s3 ft16 ws144;  SIM_S simulated seconds, 0 = the case's default
#     cdf=PATH     flow-size table of ws144 (or environment WEBSEARCH_CDF)
#     sched=NAME   Splay (fastest over all cases), Calendar (ns-2's own default),
#                  Heap, List, Map
#     headers=all  keep every packet header ns-2 knows (what "stock" scripts do)
#     count=0      leave the transmission counters out: "pts" is then null. The run is
#                  the same otherwise, so its CPU time goes with a count=1 run's pts
#
# ns-2 is configured to run as fast as it can without changing its C++ code,
# so that the comparison is with ns-2 at its best:
#  * only the packet headers in use stay, which shrinks every packet from some
#    kilobytes of zeroes to a few hundred bytes;
#  * links are wired by hand: queue -> delay -> next switch. No trace, TTL or
#    link-head objects in between;
#  * a switch is one table-lookup classifier; a host hands packets from its
#    only uplink straight to its port demultiplexer. There is no route computation.

proc usage {msg} { puts stderr "bench.tcl: $msg"; exit 2 }
if {[llength $argv] < 1} { usage "CASE \[SIM_S\] \[SEED\] \[key=value ...\]" }
set O(cdf) ""
if {[info exists env(WEBSEARCH_CDF)]} { set O(cdf) $env(WEBSEARCH_CDF) }
set O(sched) Splay; set O(headers) few; set O(count) 1
set pos {}
foreach a $argv {
    if {[regexp {^([a-z]+)=(.*)$} $a -> k v]} { set O($k) $v } else { lappend pos $a }
}
set CASE [lindex $pos 0]
set SIM  [expr {[llength $pos] > 1 ? double([lindex $pos 1]) : 0.0}]
set SEED [expr {[llength $pos] > 2 ? [lindex $pos 2] : 1}]

# Must come before the simulator exists: header offsets are fixed then.
if {$O(headers) ne "all"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
set ns [new Simulator]
$ns use-scheduler $O(sched)

# --- the cases -------------------------------------------------------------
# sim: default simulated seconds, chosen for 2 to 10 s of CPU. s3 is long because
# NewReno with ECN goes below a window of one packet and then waits for the
# retransmission timer (200 ms) in nearly every round; idle time costs no CPU.
# K: step-marking threshold in packets, 0 = no ECN.  iw: initial window.
array set CASES {
    s1    {sim 40    K 0  iw 2}
    s2    {sim 0.02  K 15 iw 10}
    s3    {sim 1000  K 65 iw 10}
    ft16  {sim 3     K 0  iw 2}
    ws144 {sim 0.03  K 65 iw 10}
}
if {![info exists CASES($CASE)]} {
    puts "{\"peer\":\"ns2\",\"case\":\"$CASE\",\"error\":\"unknown case\"}"
    exit 0
}
array set C $CASES($CASE)
if {$SIM <= 0} { set SIM $C(sim) }

set MSS 1460
# ns-2 counts packetSize_ as payload and adds tcpip_base_hdr_size_ (40 bytes).
Agent/TCP set packetSize_ $MSS
Agent/TCP set window_ 1000
Agent/TCP set windowInit_ $C(iw)
Agent/TCP set minrto_ 0.2
# The default clock tick of 10 ms would measure every round trip as zero.
Agent/TCP set tcpTick_ 1e-6
Agent/TCP set ecn_ [expr {$C(K) > 0}]
Agent/TCPSink set packetSize_ 40

# Step marking out of RED: no averaging (weight 1), both thresholds at K, and a
# mark_p_ above one so that an ECN-capable packet is marked and never dropped
# early. Packets that are not ECN-capable (ns-2's ACKs) are dropped there.
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1500
Queue/RED set q_weight_ 1.0
Queue/RED set gentle_ false
Queue/RED set setbit_ true
Queue/RED set use_mark_p_ true
Queue/RED set mark_p_ 2.0
Queue/RED set linterm_ 1
Queue/RED set thresh_ $C(K)
Queue/RED set maxthresh_ $C(K)

# --- random numbers --------------------------------------------------------
# A 31-bit linear congruential generator of our own (the multiplier 48271 and
# the Mersenne modulus of Park and Miller): the same list in every peer.
set lcg(flows) [expr {($SEED * 7919 + 12345) % 2147483647}]
set lcg(paths) [expr {$lcg(flows) + 1}]
# Paths draw from a stream of their own: it is the flows that all peers share.
proc rnd {{stream flows}} {
    global lcg
    set lcg($stream) [expr {($lcg($stream) * wide(48271)) % 2147483647}]
    return [expr {$lcg($stream) / 2147483647.0}]
}
proc rndint {n {stream flows}} { return [expr {int([rnd $stream] * $n)}] }
for {set i 0} {$i < 10} {incr i} { rnd flows; rnd paths }
# RED draws from ns-2's own generator.
$defaultRNG seed $SEED

# A permutation without fixed points: a random cycle (Sattolo's shuffle).
proc derangement {n} {
    for {set i 0} {$i < $n} {incr i} { set p($i) $i }
    for {set i [expr {$n - 1}]} {$i > 0} {incr i -1} {
        set j [rndint $i]
        set t $p($i); set p($i) $p($j); set p($j) $t
    }
    set out {}
    for {set i 0} {$i < $n} {incr i} { lappend out $p($i) }
    return $out
}

source [file join [file dirname [info script]] topo.tcl]

# --- flows -----------------------------------------------------------------
set flows {}
proc mkflow {src dst} {
    global ns host up flows
    set t [new Agent/TCP/Newreno]
    set s [new Agent/TCPSink]
    $ns attach-agent $host($src) $t
    $ns attach-agent $host($dst) $s
    set fid [llength $flows]
    $t set fid_ $fid
    $s set fid_ $fid
    $ns connect $t $s
    # A host has one link: skip its address classifier on the way out.
    $t target $up($src)
    $s target $up($dst)
    lappend flows $t
    return $t
}
proc start_at {t tcp npkts} { global ns; $ns at $t "$tcp advanceby $npkts" }
set FOREVER 1000000000

proc permutation {n jitter} {
    global FOREVER
    set src 0
    foreach dst [derangement $n] {
        start_at [expr {[rnd] * $jitter}] [mkflow $src $dst] $FOREVER
        incr src
    }
}

# Linear interpolation in the table of (size, cumulative probability).
proc read_cdf {path} {
    global cdf
    set cdf {}
    set f [open $path]
    while {[gets $f line] >= 0} {
        if {[regexp {^\s*([0-9.]+)\s+([0-9.]+)} $line -> s p]} { lappend cdf [list $s $p] }
    }
    close $f
}
proc cdf_mean {} {
    global cdf
    set m 0.0; set s0 0.0; set p0 0.0
    foreach r $cdf {
        foreach {s p} $r {}
        set m [expr {$m + ($p - $p0) * ($s + $s0) / 2.0}]
        set s0 $s; set p0 $p
    }
    return $m
}
proc cdf_draw {} {
    global cdf
    set u [rnd]; set s0 0.0; set p0 0.0
    foreach r $cdf {
        foreach {s p} $r {}
        if {$u < $p} { return [expr {int(ceil($s0 + ($s - $s0) * ($u - $p0) / ($p - $p0)))}] }
        set s0 $s; set p0 $p
    }
    return [expr {int($s0)}]
}

# ns-2 calls "done" on a sender when everything given to it is acknowledged.
set ndone 0; set rounds 0; set left 0
Agent/TCP/Newreno instproc done {} { global ndone; incr ndone; on_done }
proc on_done {} { return }
proc next_round {} {
    global flows left
    set left [llength $flows]
    foreach t $flows { $t advanceby 17 }
}

set note ""
switch $CASE {
    s1 {
        topo_star 41 1e9 50e-6 100 0
        for {set i 1} {$i <= 40} {incr i} { start_at [expr {[rnd] * 1e-3}] [mkflow $i 0] $FOREVER }
    }
    s2   { permutation [topo_fattree 8 10e9 1e-6 100 $C(K)] 10e-6 }
    ft16 { permutation [topo_fattree 4 1e9 10e-6 100 0] 100e-6 }
    s3 {
        topo_star 41 10e9 1e-6 250 $C(K)
        for {set i 1} {$i <= 40} {incr i} { mkflow $i 0 }
        # From inside an agent's callback the next round is put off to its own
        # event: that agent is still busy with the ACK.
        proc on_done {} {
            global left rounds ns
            if {[incr left -1] == 0} { incr rounds; $ns at [$ns now] next_round }
        }
        $ns at 0 next_round
    }
    ws144 {
        if {![file readable $O(cdf)]} {
            puts "{\"peer\":\"ns2\",\"case\":\"ws144\",\"error\":\"no size table: give cdf=PATH or WEBSEARCH_CDF\"}"
            exit 0
        }
        read_cdf $O(cdf)
        set n [topo_leafspine 9 16 4 10e9 40e9 2e-6 250 $C(K)]
        set rate [expr {0.6 * 10e9 / 8 / [cdf_mean] * $n}]
        # Arrivals in the first two thirds (20 of 30 ms), then a tail to finish.
        for {set t 0.0} {1} {} {
            set t [expr {$t - log(1.0 - [rnd]) / $rate}]
            if {$t >= $SIM * 2 / 3} break
            set a [rndint $n]
            set b [rndint [expr {$n - 1}]]
            if {$b >= $a} { incr b }
            set size [cdf_draw]
            set fid [llength $flows]
            start_at $t [mkflow $a $b] [expr {($size + $MSS - 1) / $MSS}]
            # data leaves through a's leaf, ACKs through b's, each its own draw
            $ecmp([expr {$a / 16}]) set-hash auto 0 0 $fid [rndint 4 paths]
            $ecmp([expr {$b / 16}]) set-hash auto 0 0 $fid [rndint 4 paths]
        }
    }
}
if {$C(K) > 0} {
    set note "stock ns-2 has no DCTCP: NewReno with ECN, RED as a step at K=$C(K); ACKs are not ECN-capable and are dropped above K"
}

# --- run and report --------------------------------------------------------
# We install all routes ourselves; without this ns-2 would compute its own.
Simulator instproc compute-routes {} { return }

proc user_s {} {
    # 14th field of the process status: user CPU in ticks of 10 ms. The command
    # name before it could hold blanks, so count from the closing bracket.
    if {[catch {set f [open /proc/self/stat]}]} { return 0 }
    set l [read $f]; close $f
    set l [string range $l [expr {[string last ")" $l] + 2}] end]
    return [expr {[lindex $l 11] / 100.0}]
}
# timeouts: nrexmit_ leaves out the timeouts of a flow whose last window cut was
# due to ECN, so with K > 0 it says too little.
proc finish {} {
    global CASE SIM SEED MSS O C outmon dropmon flows note rounds ndone setup_s
    set run [expr {[user_s] - $setup_s}]
    set acked 0.0; set to 0; set rx 0; set sent 0.0
    foreach t $flows {
        set acked [expr {$acked + [$t set ack_] + 1}]
        set sent [expr {$sent + [$t set ndatapack_]}]
        incr to [$t set nrexmit_]
        incr rx [$t set nrexmitpack_]
    }
    # Sizes are 1500 and 40, so packets and bytes together tell data from ACKs.
    set drops [$dropmon set pdrops_]
    set ddrops [expr {round(([$dropmon set bdrops_] - 40.0 * $drops) / 1460)}]
    set extra ""
    if {$CASE eq "s3"} { append extra ",\"rounds\":$rounds" }
    if {$CASE eq "ws144"} { append extra ",\"flows\":[llength $flows],\"flows_done\":$ndone" }
    if {$note ne ""} { append extra ",\"note\":\"$note\"" }
    puts [format {{"peer":"ns2","case":"%s","sim_s":%g,"seed":%d,"pts":%s,"goodput_bps":%.6g,"drops":%d,"ack_drops":%d,"timeouts":%d,"rexmit":%d,"data_sent":%.0f,"setup_user_s":%.2f,"run_user_s":%.2f%s}} \
        $CASE $SIM $SEED [expr {$O(count) ? [format %.0f [$outmon set pdepartures_]] : "null"}] \
        [expr {$acked * $MSS * 8 / $SIM}] $ddrops [expr {$drops - $ddrops}] $to $rx $sent $setup_s $run $extra]
    exit 0
}
$ns at $SIM finish
set setup_s [user_s]
$ns run
