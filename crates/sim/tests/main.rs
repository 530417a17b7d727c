//! Tests of whole connections and of ports in one program, one file a subject: `cargo test -p forebay-sim --test main tcp_random::` runs one of them.

mod buffered_ports;
mod cc_columns;
mod external;
mod peer_errors;
mod program;
mod scripted;
mod tcp_connections;
mod tcp_random;
mod threads;
mod traces;
mod whole_runs;
