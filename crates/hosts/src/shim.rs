//! A shim that this process owns: loaded, and attached to interfaces of any of its network namespaces. It has no pin and no state file, so that it is
//! removed with its interfaces, or with the process, however that ends.

use crate::catalog::{Kind, Program};
use crate::counters::Layout;
use crate::tc::Filter;
use crate::{Error, counters, loader};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};
use std::net::Ipv4Addr;

/// A loaded shim.
#[derive(Debug)]
pub struct Shim {
    program: &'static Program,
    object: Object,
    /// Where it keeps what it did for connections, if it does: tables and the beginnings of their entries, of both roles.
    roles: Option<[(MapHandle, Layout); 2]>,
}

/// Addresses and ports of a connection, from the end that opens it to the one that accepts.
pub type Ends = ((Ipv4Addr, u16), (Ipv4Addr, u16));

/// Counters of a probing shim for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// Probes sent.
    pub probes: u32,
    /// ACKs whose window was lowered.
    pub throttled: u64,
    /// Verdict on the first SYN-ACK (`enum verdict` of `proboscis.bpf.c`); 0: none.
    pub verdict: u32,
    /// The window with which that SYN-ACK left, bytes, and how long it was held, ns.
    pub answer: Option<(u64, u64)>,
}

impl Shim {
    /// Loads the shim of that name for connections to any address, with these parameters; others have their defaults.
    ///
    /// # Errors
    /// There is no such shim or parameter, the value is not legal, or the kernel refuses the program.
    pub fn load(name: &str, params: &[(&str, u64)]) -> Result<Shim, Error> {
        let program = Program::named(name)?;
        if program.kind != Kind::Shim {
            return Err(Error::new(format!("`{name}` is a congestion control")).fix("`forebay attach` registers it"));
        }
        check(name, params)?;
        let object = loader::load(program, name, false, params)?;
        loader::set_prefixes(&object, &["0.0.0.0/0".parse()?])?;
        let mut shim = Shim { program, object, roles: None };
        if let (Ok(sending), Ok(receiving)) = (shim.map("sending"), shim.map("receiving")) {
            let [sender, receiver] = [Layout::of(program, "sender_row")?, Layout::of(program, "receiver_row")?];
            shim.roles = Some([(sending, sender), (receiving, receiver)]);
        }
        Ok(shim)
    }

    /// Attaches it to both sides of an interface of the network namespace in which the calling thread is. Several shims at one interface have
    /// different numbers, below 64; packets pass them in the order of these.
    ///
    /// # Errors
    /// There is no such interface, or it has a shim of that number.
    pub fn attach(&self, device: &str, number: u32) -> Result<(), Error> {
        for egress in self.program.sides {
            loader::attach_filter(&self.object, &Filter::numbered(device, *egress, number)?)?;
        }
        Ok(())
    }

    /// All it has counted.
    ///
    /// # Errors
    /// The kernel does not give its map.
    pub fn counters(&self) -> Result<Vec<(String, u64)>, Error> {
        counters::counters(self.program, &self.map("counters")?)
    }

    /// A map of the program.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let missing = || Error::new(format!("`{}` has no map `{name}`", self.program.name));
        let map = self.object.maps().find(|m| m.name() == name).ok_or_else(missing)?;
        MapHandle::try_from(&map).map_err(|e| Error::bpf(format!("the map `{name}` of `{}`", self.program.name), &e))
    }

    /// Counters of `proboscis` for the connection between these ends; zeros if it has no entry.
    ///
    /// # Errors
    /// It is another shim.
    pub fn row(&self, (from, to): Ends) -> Result<Row, Error> {
        let mut key = [0; 12];
        key[..4].copy_from_slice(&from.0.octets());
        key[4..8].copy_from_slice(&to.0.octets());
        key[8..10].copy_from_slice(&from.1.to_be_bytes());
        key[10..].copy_from_slice(&to.1.to_be_bytes());
        let Some([(sending, sender), (receiving, receiver)]) = &self.roles else {
            return Err(Error::new(format!("`{}` keeps nothing of connections", self.program.name)));
        };
        let entry = |map: &MapHandle| {
            let value = map.lookup(&key, MapFlags::ANY);
            value.map(Option::unwrap_or_default).map_err(|e| Error::bpf(format!("tables of `{}`", self.program.name), &e))
        };
        let (sent, received) = (entry(sending)?, entry(receiving)?);
        Ok(Row {
            probes: sender.number(&sent, "probes") as u32,
            throttled: sender.number(&sent, "limited"),
            verdict: receiver.number(&received, "verdict") as u32,
            answer: (receiver.number(&received, "answered") > 0)
                .then(|| (receiver.number(&received, "answer"), receiver.number(&received, "held"))),
        })
    }
}

/// Checks that the shim of that name supports these parameters.
///
/// # Errors
/// An unsupported parameter, and the legal values.
pub fn check(name: &str, params: &[(&str, u64)]) -> Result<(), Error> {
    let program = Program::named(name)?;
    params.iter().try_for_each(|(key, value)| program.param(key, &value.to_string()).map(|_| ()))
}
