//! debug
use std::ops::ControlFlow;
fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap();
    let sets: Vec<String> = args.collect();
    let r = match forebay_scenario::load(std::path::Path::new(&file), &sets, None).and_then(|s| s.resolve()) {
        Ok(r) => r,
        Err(e) => {
            eprintln!("{e}");
            return;
        }
    };
    for v in &r.variants {
        let rep = forebay_sim::run::run(&v.config, &mut |_| ControlFlow::Continue(())).unwrap();
        println!("{} hops {} fp {:x}", v.label, rep.packet_hops, rep.fingerprint);
        for f in rep.flows.iter().take(45) {
            println!(
                "{} {}->{} size {} acked {} sent {} retx {} rtos {} (h{} t{}) fr {} cwndmax {:.1} rtt {} start {} end {} ideal {} fct {}",
                f.flow_id,
                f.src,
                f.dst,
                f.size_bytes,
                f.bytes_acked,
                f.segs_sent,
                f.segs_retx,
                f.rtos,
                f.rtos_head,
                f.rtos_tail,
                f.fast_retx,
                f.cwnd_max,
                f.rtt_mean_ps as f64 / 1e9,
                f.start_ps,
                f.end_ps,
                f.ideal_ps,
                f.end_ps.wrapping_sub(f.start_ps)
            );
        }
        for t in &rep.tcp {
            println!(
                "T {:.6} {} cwnd {:.2} ss {:.1} fl {} st {} acked {} retx {} rto {}",
                t.time_ps as f64 * 1e-12,
                t.conn_id,
                t.cwnd,
                t.ssthresh,
                t.unacked_bytes / 1460,
                t.ca_state,
                t.bytes_acked,
                t.retrans,
                t.rto_ps as f64 * 1e-9
            );
        }
        for q in rep.queries.iter().take(10) {
            println!("{q:?}");
        }
        for p in rep.ports.iter().filter(|p| p.queue_percentiles.is_some()) {
            println!("{} {:?}", v.port_names[p.port as usize], p);
        }
    }
}
