//! List of the shims that set receive windows (`shim/window.rs`), and their state for connections and hosts. `engine/window_shim.rs` calls the hooks
//! of hosts, `tcp/receiver/mod.rs` those of connections.

use super::window::WindowShim;
use forebay_types::{Rate, Time};

/// Makes the configuration and the state of connections and hosts from the list of shims.
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

        /// State of one host for all its connections, for each shim that one of them has.
        #[derive(Debug, Clone, Default)]
        pub struct Hosts {
            $($module: Option<Box<<super::$module::$shim as WindowShim>::Host>>),+
        }

        $(impl From<<super::$module::$shim as WindowShim>::Config> for Config {
            fn from(c: <super::$module::$shim as WindowShim>::Config) -> Config {
                Config::$name(c)
            }
        })+

        impl Config {
            /// Name in the registry.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Config::$name(_) => super::$module::ENTRY.entry.name),+
                }
            }

            /// Initial receive window of a sender, in bytes; `most` is the stack's.
            pub fn first_window(&self, mss: u32, most: u64) -> u64 {
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
            /// Adds the connection with this window to this host, whose link has `rate`; its ACKs take `back` to the sender on the empty path. Our
            /// choice: a host that receives by several transports has the parameters of the first.
            pub fn join(&mut self, window: &mut Window, rate: Rate, back: Time) {
                match window {
                    $(Window::$name(w) => {
                        let host = self.$module.get_or_insert_with(|| Box::new(w.host(rate, back * 2)));
                        w.join(host, back);
                    })+
                }
            }

            /// Removes the connection with this window.
            pub fn leave(&mut self, window: &Window) {
                match window {
                    $(Window::$name(w) => if let Some(host) = &mut self.$module { w.leave(host); })+
                }
            }

            /// Notes that a packet of `wire` bytes reached the host at `now`.
            pub fn packet_arrived(&mut self, now: Time, wire: u64) {
                $(if let Some(host) = &mut self.$module {
                    <super::$module::$shim as WindowShim>::packet_arrived(host, now, wire);
                })+
            }

            /// Notes that data of `len` bytes reached the connection with this window at `now`, after `forward` from the sender.
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

impl Window {
    /// Creates the window of a new connection, boxed, so that connections without such a shim carry a null pointer. `most` is the receive window of
    /// the stack, bytes.
    pub fn new(config: Option<&Config>, mss: u32, most: u64) -> Option<Box<Window>> {
        config.map(|c| Box::new(c.start(mss, most)))
    }
}
