//! Theory of an empty path, computed without the simulator: store and forward, and ACK-clocked slow start.

/// One hop: bits per second, and propagation delay in ps.
pub type Hop = (u64, u64);

/// Serialization time in ps, rounded down as in a transmitter that counts picoseconds.
pub fn tx(bytes: u64, rate: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000_000 / u128::from(rate)) as u64
}

/// FIFO hops with the time when their transmitters become free.
#[derive(Debug, Clone)]
pub struct Path {
    hops: Vec<(Hop, u64)>,
}

impl Path {
    /// An idle path.
    pub fn new(hops: &[Hop]) -> Path {
        Path { hops: hops.iter().map(|&h| (h, 0)).collect() }
    }

    /// Time when the last bit of a packet sent at `at` reaches the end.
    pub fn carry(&mut self, at: u64, wire: u64) -> u64 {
        self.hops.iter_mut().fold(at, |t, ((rate, delay), free)| {
            *free = t.max(*free) + tx(wire, *rate);
            *free + *delay
        })
    }
}

/// A transfer over an empty path.
#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    /// Hops from sender to receiver.
    pub path: &'a [Hop],
    /// Payload bytes.
    pub bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Bytes of headers.
    pub header: u64,
    /// Wire bytes of an ACK, a SYN and a SYN-ACK.
    pub ack: u64,
    /// Initial window, segments.
    pub window: u64,
    /// True if SYN and SYN-ACK come first.
    pub handshake: bool,
}

impl Transfer<'_> {
    fn wires(&self) -> Vec<u64> {
        let n = self.bytes.div_ceil(self.mss);
        (0..n).map(|i| (self.bytes - i * self.mss).min(self.mss) + self.header).collect()
    }

    /// Time in ps until the last byte arrives, for back-to-back segments without handshake and window.
    pub fn ideal(&self) -> u64 {
        let mut path = Path::new(self.path);
        self.wires().iter().map(|&w| path.carry(0, w)).max().unwrap_or(0)
    }

    /// Time in ps from the start of the handshake until the last byte arrives, in slow start with one ACK per segment. A window of w segments has
    /// grown to w + a after a ACKs, so segment i (from 0) is sent at ACK (i - w) / 2 + 1.
    pub fn completion(&self) -> u64 {
        let back: Vec<Hop> = self.path.iter().rev().copied().collect();
        let (mut forth, mut back) = (Path::new(self.path), Path::new(&back));
        let mut open = 0;
        if self.handshake {
            let syn = forth.carry(0, self.ack);
            open = back.carry(syn, self.ack);
            // The last packet of the handshake precedes the data.
            forth.carry(open, self.ack);
        }
        let mut acked = Vec::new();
        let mut done = 0;
        for (i, wire) in (0..).zip(self.wires()) {
            let release = if i < self.window { open } else { acked[((i - self.window) / 2) as usize] };
            done = forth.carry(release, wire);
            acked.push(back.carry(done, self.ack));
        }
        done
    }
}

/// Mean queue in packets, mean link utilization and cycle length in round trips of `n` synchronized additive-increase, multiplicative-decrease flows.
/// They fill a pipe of `pipe` packets and a buffer of `buffer`. The sum of the windows grows from half its peak by `n` per round trip. A round trip
/// lasts as long as the bottleneck needs for the packets in flight.
pub fn sawtooth(pipe: f64, buffer: f64, n: f64) -> (f64, f64, f64) {
    let peak = pipe + buffer;
    let (mut window, mut queue_time, mut sent, mut time, mut rounds) = (peak / 2.0, 0.0, 0.0, 0.0, 0.0);
    // Small steps of a continuous sawtooth; a round trip lasts max(window, pipe) packet times.
    let step = 1e-3;
    while window < peak {
        let rtt = window.max(pipe);
        queue_time += (window - pipe).max(0.0) * rtt * step;
        sent += window * step;
        time += rtt * step;
        window += n * step;
        rounds += step;
    }
    (queue_time / time, sent / time, rounds)
}
