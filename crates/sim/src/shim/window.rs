//! Shims that set receive windows: the hooks they have and the list of them. They work at the receiving host, whose connections share its
//! link; senders know nothing of them. `engine/window_shim.rs` calls what is about a host, `tcp/receiver/mod.rs` what is about one connection.

use super::{ShimConfig, ShimEntry};
use forebay_units::{Rate, Time};

/// A shim that sets the receive window of one connection. To add one: implement this in a file of its own, and add a line to the list below.
pub trait WindowShim: std::fmt::Debug + Clone {
    /// Its parameters, from the registry entry.
    type Config: std::fmt::Debug + Clone + PartialEq;

    /// What a host knows of its link and of all connections that it receives by.
    type Host: std::fmt::Debug + Clone;

    /// Receive window with which a connection begins, bytes; `most` is what the stack would advertise.
    fn first_window(c: &Self::Config, mss: u32, most: u64) -> u64;

    /// The state of a new connection; `most` is the receive window that the stack would have, bytes.
    fn new(c: &Self::Config, mss: u32, most: u64) -> Self;

    /// The state of the host, which has an idle link of `rate` and this connection as its first; `rtt` is that of the empty path.
    fn host(&self, rate: Rate, rtt: Time) -> Self::Host;

    /// The connection begins; its ACKs take `back` to the sender on the empty path.
    fn join(&mut self, host: &mut Self::Host, back: Time);

    /// The connection has ended.
    fn leave(&self, host: &mut Self::Host);

    /// A packet of `wire` bytes reached the host, of any connection.
    fn packet_arrived(host: &mut Self::Host, now: Time, wire: u64);

    /// Data of `len` bytes reached the connection, which took `forward` from the sender; called before the endpoint sees it.
    fn data_arrived(&mut self, host: &mut Self::Host, now: Time, len: u64, forward: Time);

    /// The window that an ACK for everything before stream offset `next` advertises, bytes; `repeated`: it acknowledges nothing new.
    fn advertise(&mut self, next: u64, repeated: bool) -> u64;
}

/// The one list of the shims of this place: what a transport is configured with, the state of a connection, and that of a host.
macro_rules! window_shims {
    ($($name:ident: $module:ident::$shim:ident),+ $(,)?) => {
        /// A shim that sets receive windows, and its parameters, as configured.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(<super::$module::$shim as WindowShim>::Config)),+
        }

        /// The state of one connection.
        #[derive(Debug, Clone)]
        pub enum Window {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(super::$module::$shim)),+
        }

        /// What one host knows for all its connections, of each shim that one of them has.
        #[derive(Debug, Clone, Default)]
        pub struct Hosts {
            $($module: Option<Box<<super::$module::$shim as WindowShim>::Host>>),+
        }

        impl Config {
            pub(super) fn entry(&self) -> &'static ShimEntry {
                match self {
                    $(Config::$name(_) => &super::$module::ENTRY),+
                }
            }

            fn first_window(&self, mss: u32, most: u64) -> u64 {
                match self {
                    $(Config::$name(c) => <super::$module::$shim as WindowShim>::first_window(c, mss, most)),+
                }
            }

            fn start(&self, mss: u32, most: u64) -> Window {
                match self {
                    $(Config::$name(c) => Window::$name(<super::$module::$shim as WindowShim>::new(c, mss, most))),+
                }
            }
        }

        impl Hosts {
            /// The connection with this window begins at this host, whose link has `rate`; its ACKs take `back` to the sender on the
            /// empty path. Our choice: a host that receives by several transports has the parameters of the first.
            pub fn join(&mut self, window: &mut Window, rate: Rate, back: Time) {
                match window {
                    $(Window::$name(w) => {
                        let host = self.$module.get_or_insert_with(|| Box::new(w.host(rate, back * 2)));
                        w.join(host, back);
                    })+
                }
            }

            /// The connection with this window has ended.
            pub fn leave(&mut self, window: &Window) {
                match window {
                    $(Window::$name(w) => if let Some(host) = &mut self.$module { w.leave(host); })+
                }
            }

            /// A packet of `wire` bytes reached the host at `now`.
            pub fn packet_arrived(&mut self, now: Time, wire: u64) {
                $(if let Some(host) = &mut self.$module {
                    <super::$module::$shim as WindowShim>::packet_arrived(host, now, wire);
                })+
            }

            /// Data of `len` bytes reached the connection with this window at `now`, which took `forward` from the sender.
            pub fn data_arrived(&mut self, window: &mut Window, now: Time, len: u64, forward: Time) {
                match window {
                    $(Window::$name(w) => if let Some(host) = &mut self.$module { w.data_arrived(host, now, len, forward); })+
                }
            }
        }

        impl Window {
            /// See [`WindowShim::advertise`].
            pub fn advertise(&mut self, next: u64, repeated: bool) -> u64 {
                match self {
                    $(Window::$name(w) => w.advertise(next, repeated)),+
                }
            }
        }
    };
}

window_shims! {
    Ictcp: ictcp::Share,
}

/// The shim of this place among `shims`.
pub fn configured(shims: &[ShimConfig]) -> Option<&Config> {
    shims.iter().find_map(|s| if let ShimConfig::Window(c) = s { Some(c) } else { None })
}

impl Window {
    /// The window of a new connection of a transport with `shims`, boxed: connections without such a shim carry a null pointer. `most` is
    /// the receive window that the stack would have, bytes.
    pub fn new(shims: &[ShimConfig], mss: u32, most: u64) -> Option<Box<Window>> {
        configured(shims).map(|c| Box::new(c.start(mss, most)))
    }
}

/// Receive window, in bytes, with which the sender of a transport with `shims` begins; `None`: the stack's.
pub fn first_window(shims: &[ShimConfig], mss: u32, most: u64) -> Option<u64> {
    configured(shims).map(|c| c.first_window(mss, most))
}
