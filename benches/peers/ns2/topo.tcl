# Links, switches, hosts and the three topologies of bench.tcl.
# Uses its globals ns, O and rndint.

# --- links, switches, hosts ------------------------------------------------
# One monitor counts the departures of all queues, another their drops. A snoop
# costs one virtual call and a few additions a packet (3 to 4 %, see count=0);
# in return the count is exact, whatever is lost or still in flight at the end.
set outmon [new QueueMonitor]
set dropmon [new QueueMonitor]
set dropsnoop [new SnoopQueue/Drop]
$dropsnoop set-monitor $dropmon
$dropsnoop target [$ns set nullAgent_]

# Returns the queue: send packets to it. `limit` in packets, `K` 0 = drop tail.
proc mklink {rate delay limit K target} {
    global O outmon dropsnoop
    set q [new [expr {$K > 0 ? "Queue/RED" : "Queue/DropTail"}]]
    $q set limit_ $limit
    set d [new DelayLink]
    $d set bandwidth_ $rate
    $d set delay_ $delay
    $d target $target
    if {$O(count)} {
        set s [new SnoopQueue/Out]
        $s set-monitor $outmon
        $s target $d
        $q target $s
    } else {
        $q target $d
    }
    $q drop-target $dropsnoop
    if {$K > 0} { $q link $d }
    $q reset
    return $q
}
proc mkswitch {} {
    set c [new Classifier/Addr]
    $c set mask_ 0x7fffffff
    $c set shift_ 0
    return $c
}
# Hosts are created first, so the address of host i is i.
proc mkhosts {n} {
    global ns host nullag
    for {set i 0} {$i < $n} {incr i} {
        set host($i) [$ns node]
        # The port demultiplexer appears with the first agent.
        set a [new Agent/Null]
        $ns attach-agent $host($i) $a
    }
}
# Full-duplex host link; the host side queue is as good as unlimited.
proc hostlink {i sw rate delay limit K} {
    global host up
    set up($i) [mklink $rate $delay 4000 0 $sw]
    $sw install $i [mklink $rate $delay $limit $K [$host($i) demux]]
}

proc topo_star {n rate delay limit K} {
    mkhosts $n
    set sw [mkswitch]
    for {set i 0} {$i < $n} {incr i} {
        # Host 0 receives; only the port towards it has the small buffer.
        if {$i == 0} { hostlink $i $sw $rate $delay $limit $K } \
        else { hostlink $i $sw $rate $delay 4000 0 }
    }
}

# k-ary fat tree. ns-2 has no per-flow ECMP (its MultiPath classifier sprays).
# Every switch picks a random uplink for each destination; in a permutation a
# host is the destination of one data flow and of one ACK flow, so this is ECMP
# by flow as far as data is concerned.
proc topo_fattree {k rate delay limit K} {
    set h [expr {$k / 2}]; set pod [expr {$h * $h}]; set n [expr {$k * $pod}]
    mkhosts $n
    for {set c 0} {$c < $pod} {incr c} { set core($c) [mkswitch] }
    for {set p 0} {$p < $k} {incr p} {
        for {set a 0} {$a < $h} {incr a} {
            set agg($p,$a) [mkswitch]
            set edge($p,$a) [mkswitch]
        }
    }
    for {set p 0} {$p < $k} {incr p} {
        for {set e 0} {$e < $h} {incr e} {
            set first [expr {$p * $pod + $e * $h}]
            for {set i 0} {$i < $h} {incr i} {
                hostlink [expr {$first + $i}] $edge($p,$e) $rate $delay $limit $K
            }
            for {set a 0} {$a < $h} {incr a} {
                set eup($a) [mklink $rate $delay $limit $K $agg($p,$a)]
                set dn [mklink $rate $delay $limit $K $edge($p,$e)]
                for {set i 0} {$i < $h} {incr i} { $agg($p,$a) install [expr {$first + $i}] $dn }
            }
            for {set d 0} {$d < $n} {incr d} {
                if {$d < $first || $d >= $first + $h} { $edge($p,$e) install $d $eup([rndint $h paths]) }
            }
        }
        for {set a 0} {$a < $h} {incr a} {
            for {set j 0} {$j < $h} {incr j} {
                set c $core([expr {$a * $h + $j}])
                set aup($j) [mklink $rate $delay $limit $K $c]
                set dn [mklink $rate $delay $limit $K $agg($p,$a)]
                for {set i 0} {$i < $pod} {incr i} { $c install [expr {$p * $pod + $i}] $dn }
            }
            for {set d 0} {$d < $n} {incr d} {
                if {$d / $pod != $p} { $agg($p,$a) install $d $aup([rndint $h paths]) }
            }
        }
    }
    return $n
}

# Leaf-spine. Here many flows share a destination, so a leaf sends remote
# packets through a hash on the flow identifier: ECMP by flow, exactly.
proc topo_leafspine {leaves perleaf spines hrate lrate delay limit K} {
    global ecmp spineof
    set n [expr {$leaves * $perleaf}]
    mkhosts $n
    for {set s 0} {$s < $spines} {incr s} { set spine($s) [mkswitch] }
    for {set l 0} {$l < $leaves} {incr l} {
        set leaf [mkswitch]
        set ecmp($l) [new Classifier/Hash/Fid 1024]
        set first [expr {$l * $perleaf}]
        for {set s 0} {$s < $spines} {incr s} {
            # slot s of the hash classifier is the link to spine s
            $ecmp($l) install $s [mklink $lrate $delay $limit $K $spine($s)]
            set dn [mklink $lrate $delay $limit $K $leaf]
            for {set i 0} {$i < $perleaf} {incr i} { $spine($s) install [expr {$first + $i}] $dn }
        }
        for {set d 0} {$d < $n} {incr d} {
            if {$d / $perleaf == $l} { hostlink $d $leaf $hrate $delay $limit $K } \
            else { $leaf install $d $ecmp($l) }
        }
    }
    return $n
}
