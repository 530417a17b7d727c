# ns-2 side of "make peers": one set-up, one JSON line on stdout.
#
#   ns agree.tcl key=value ...
#
# N senders, one switch, one receiver (host 0), as forebay's many-to-one:
#   n=2 rate=1e9 arate=1e9 delay=50e-6 adelay=50e-6 buffer=100
#   queue=tail | step | red   step: k=20   red: min=50 max=100 pmax=0.02 weight=0.002 gentle=0
#   tcp=Newreno | Reno | Linux  cc=cubic (of Linux)  ecn=0 minrto=0.2 window=1000 iw=2 header=40
#   end=1.0 warmup=0.1 seed=1
#   starts=FILE  lines "connection seconds packets"; 0 packets: endless
#   block=45 rounds=20  instead of starts: barrier rounds of that many packets a sender,
#   jitter=0            each request of which is answered up to that many seconds late
#   overhead=0          each packet leaves its sender up to that many seconds late
#
# The buffer counts the packet on the wire, as forebay's does; so does the mean queue.

array set O {
    n 2 rate 1e9 arate 1e9 delay 50e-6 adelay 50e-6 buffer 100
    queue tail k 20 min 50 max 100 pmax 0.02 weight 0.002 gentle 0
    tcp Newreno cc cubic ecn 0 minrto 0.2 window 1000 iw 2 header 40
    end 1.0 warmup 0.0 seed 1 starts "" block 0 rounds 0 jitter 0 overhead 0
}
foreach a $argv {
    if {![regexp {^([a-z]+)=(.*)$} $a -> k v] || ![info exists O($k)]} { puts stderr "agree.tcl: $a?"; exit 2 }
    set O($k) $v
}
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Heap
Simulator instproc compute-routes {} { return }
$defaultRNG seed $O(seed)

# ns-2 counts packetSize_ as payload and adds tcpip_base_hdr_size_.
Agent/TCP set packetSize_ 1460
if {$O(header) > 0} {
    Agent/TCP set tcpip_base_hdr_size_ $O(header)
} else {
    Agent/TCP set useHeaders_ false
}
# Both ends start established: without this the first segment is an empty SYN.
Agent/TCP set syn_ false
# The window outlives a pause, as with forebay's stack of the same name.
Agent/TCP set slow_start_restart_ false
Agent/TCP set window_ $O(window)
Agent/TCP set windowInit_ $O(iw)
Agent/TCP set minrto_ $O(minrto)
# The default clock tick of 10 ms would measure every round trip as zero.
Agent/TCP set tcpTick_ 1e-6
Agent/TCP set ecn_ $O(ecn)
Agent/TCP set overhead_ $O(overhead)
Agent/TCPSink set packetSize_ 40

Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ [expr {1460 + $O(header)}]
Queue/RED set setbit_ true
Queue/RED set gentle_ $O(gentle)
if {$O(queue) eq "step"} {
    # No averaging, both thresholds at k, and always marked there: see bench.tcl.
    Queue/RED set q_weight_ 1.0
    Queue/RED set use_mark_p_ true
    Queue/RED set mark_p_ 2.0
    Queue/RED set linterm_ 1
    Queue/RED set thresh_ $O(k)
    Queue/RED set maxthresh_ $O(k)
} else {
    Queue/RED set q_weight_ $O(weight)
    Queue/RED set linterm_ [expr {1.0 / $O(pmax)}]
    Queue/RED set thresh_ $O(min)
    Queue/RED set maxthresh_ $O(max)
    # Above max_th it marks too, if ECN can carry the mark.
    Queue/RED set use_mark_p_ true
    Queue/RED set mark_p_ 2.0
}

# --- the network: queue -> link -> next, without objects in between ---------
set mon [new QueueMonitor]
set pkts [new Integrator]
set bytes [new Integrator]
$mon set-pkts-integrator $pkts
$mon set-bytes-integrator $bytes
proc snoop {kind target} {
    global mon
    set s [new SnoopQueue/$kind]
    $s set-monitor $mon
    $s target $target
    return $s
}
# A watched port reports what enters, leaves and is dropped.
proc port {rate delay limit queue watched target} {
    global ns
    set q [new Queue/[expr {$queue eq "tail" ? "DropTail" : "RED"}]]
    $q set limit_ $limit
    set d [new DelayLink]
    $d set bandwidth_ $rate
    $d set delay_ $delay
    $d target $target
    $q target $d
    $q drop-target [$ns set nullAgent_]
    set first $q
    if {$watched} {
        $q target [snoop Out $d]
        $q drop-target [snoop Drop [$ns set nullAgent_]]
        set first [snoop In $q]
    }
    if {$queue ne "tail"} { $q link $d }
    $q reset
    return $first
}
set sw [new Classifier/Addr]
$sw set mask_ 0x7fffffff
$sw set shift_ 0
for {set i 0} {$i <= $O(n)} {incr i} {
    set host($i) [$ns node]
    $ns attach-agent $host($i) [new Agent/Null]
    set bottleneck [expr {$i == 0}]
    set r [expr {$bottleneck ? $O(rate) : $O(arate)}]
    set d [expr {$bottleneck ? $O(delay) : $O(adelay)}]
    set up($i) [port $r $d 1000000 tail 0 $sw]
    $sw install $i [port $r $d [expr {$bottleneck ? $O(buffer) : 1000000}] \
        [expr {$bottleneck ? $O(queue) : "tail"}] $bottleneck [$host($i) demux]]
}
set class Agent/TCP/$O(tcp)
for {set i 1} {$i <= $O(n)} {incr i} {
    set t($i) [new $class]
    set sink [new Agent/TCPSink]
    if {$O(tcp) eq "Linux"} {
        set sink [new Agent/TCPSink/Sack1]
        $ns at 0 "$t($i) select_ca $O(cc)"
    }
    $ns attach-agent $host($i) $t($i)
    $ns attach-agent $host(0) $sink
    $t($i) set fid_ $i
    $sink set fid_ $i
    $ns connect $t($i) $sink
    $t($i) target $up($i)
    $sink target $up(0)
    set index($t($i)) $i
    set last($i) -1
}

# --- traffic -----------------------------------------------------------------
# ns-2 calls "done" on a sender when everything given to it is acknowledged.
set rounds 0; set left 0; set roundtime 0; set roundlist {}
Agent/TCP instproc done {} {
    global index last ns
    set last($index($self)) [$ns now]
    on_done
}
proc on_done {} {}
if {$O(rounds) > 0} {
    set late [new RandomVariable/Uniform]
    $late set min_ 0
    $late set max_ $O(jitter)
    proc round {} {
        global O t left ns late
        set left $O(n)
        for {set i 1} {$i <= $O(n)} {incr i} {
            $ns at [expr {[$ns now] + [$late value]}] "$t($i) advanceby $O(block)"
        }
    }
    # The last ACK takes as long to a sender as a request would.
    proc on_done {} {
        global left rounds ns O
        if {[incr left -1] == 0} {
            if {[incr rounds] < $O(rounds)} { $ns at [$ns now] round } else { $ns at [$ns now] finish }
        }
    }
    $ns at 0 round
} else {
    set f [open $O(starts)]
    while {[gets $f line] >= 0} {
        foreach {c s p} $line {}
        $ns at $s "$t([expr {$c + 1}]) advanceby [expr {$p > 0 ? $p : 1000000000}]"
    }
    close $f
}
proc begin {} {
    global O t mon pkts acked0 integ0 depart0 drops0 window0
    set window0 0.0
    for {set i 1} {$i <= $O(n)} {incr i} {
        set acked0($i) [$t($i) set ack_]
        set window0 [expr {$window0 + double([$t($i) set cwnd_]) / $O(n)}]
    }
    set integ0 [integral]
    set depart0 [$mon set bdepartures_]
    set drops0 [$mon set pdrops_]
}
proc integral {} {
    global ns mon pkts
    $pkts newpoint [$ns now] [$mon set pkts_]
    return [$pkts set sum_]
}
proc finish {} {
    global O t mon ns acked0 integ0 depart0 drops0 window0 last rounds
    set now [$ns now]
    set span [expr {$now - $O(warmup)}]
    set busy [expr {([$mon set bdepartures_] - $depart0) * 8.0 / $O(rate) / $span}]
    set sum 0.0; set squares 0.0; set to {}; set total 0; set ends {}; set lo 1e30; set hi 0; set cuts 0
    for {set i 1} {$i <= $O(n)} {incr i} {
        set a [expr {double([$t($i) set ack_] - $acked0($i))}]
        set sum [expr {$sum + $a}]; set squares [expr {$squares + $a * $a}]
        if {$a < $lo} { set lo $a }
        if {$a > $hi} { set hi $a }
        lappend to [$t($i) set nrexmit_]; incr total [$t($i) set nrexmit_]
        incr cuts [$t($i) set ncwndcuts_]
        lappend ends [format %.4f $last($i)]
    }
    set zero [llength [lsearch -all -exact $to 0]]
    set latest [lindex [lsort -real $ends] end]
    puts [format {{"seconds":%g,"goodput":%.5f,"jain":%.4f,"ratio":%.4f,"queue":%.3f,"busy":%.4f,"drops":%d,"timeouts":%d,"spared":%d,"end":%s,"rounds":%d,"cuts":%d,"window":%.1f,"by_flow":"%s"}} \
        $now [expr {$sum * 1460 * 8 / $O(rate) / $span}] [expr {$squares > 0 ? $sum * $sum / $O(n) / $squares : 0}] \
        [expr {$lo > 0 ? $hi / $lo : 1e9}] [expr {([integral] - $integ0) / $span + $busy}] $busy \
        [expr {int([$mon set pdrops_] - $drops0)}] $total $zero $latest $rounds $cuts $window0 $to]
    exit 0
}
$ns at $O(warmup) begin
$ns at $O(end) finish
$ns run
