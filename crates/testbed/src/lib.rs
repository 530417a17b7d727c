//! The backend `testbed`: experiments in real time on the TCP of the running kernel. Hosts are network namespaces of this process. A software switch
//! with the disciplines of the crate `queues` connects them. The switch decides in exact virtual time, so that rates and queues are right even when a
//! delivery is late. Deadline misses are measured; a run with too large misses is invalid.

pub mod clock;
pub mod commands;
pub mod deadline_miss;
pub mod delay_queue;
pub mod ends;
pub mod frame;
pub mod guest;
pub mod namespace;
pub mod netlink;
pub mod port;
#[cfg_attr(not(feature = "bpf"), path = "program_stub.rs")]
pub mod program;
pub mod records;
pub mod routes;
pub mod segmentation;
pub mod shim;
pub mod sockets;
pub mod spray;
pub mod stream;
pub mod switch;
pub mod tag;
pub mod tap;
pub mod tcp_info;
pub mod trace;
pub mod wire;
pub mod world;
