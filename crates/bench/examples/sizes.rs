//! debug
fn main() {
    println!(
        "sender {} receiver {} port {} stream {} law {}",
        size_of::<forebay_sim::tcp::sender::Sender>(),
        size_of::<forebay_sim::tcp::receiver::Receiver>(),
        size_of::<forebay_sim::net::port::Port>(),
        size_of::<forebay_sim::engine::stream::Stream>(),
        size_of::<forebay_sim::cc::Law>()
    );
}
