//! TCP point by point, after the RFCs: scripted peers in the packetdrill style.

#[path = "../scripted/mod.rs"]
mod scripted;

mod accecn;
mod bbr;
mod collapse;
mod congestion;
mod cubic;
mod d2tcp;
mod ecn;
mod handshake;
mod ictcp;
mod idle;
mod kernel_probes;
mod kernel_releases;
mod kernel_sack;
mod kernel_timers;
mod kernel_undo;
mod kernel_window;
mod l2dct;
mod linux;
mod metrics;
mod nagle;
mod newreno;
mod offload;
mod pfabric;
mod pias;
mod prague;
mod prin;
mod proboscis;
mod quickack;
mod rack;
mod receiver;
mod reduction;
mod rto;
mod sack;
mod scale;
mod send_memory;
mod slow_start;
mod small_queues;
mod spurious;
mod trim;
mod undo;
