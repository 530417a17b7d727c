//! A transport as the endpoints use it.

use crate::cc::{self, CcConfig};
use crate::shim::{self, Shims};
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::{Stack, Transport};
use std::ops::{Deref, DerefMut};

/// A stack with law and shims of this simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    /// Everything but law and shims.
    pub stack: Stack,
    /// Congestion control law.
    pub law: CcConfig,
    /// At most one shim in each place.
    pub shims: Shims,
}

impl TcpConfig {
    /// The configuration that `transport` describes.
    ///
    /// # Errors
    /// A law or a shim that the registries do not have, or parameters that it refuses.
    pub fn of(transport: &Transport) -> Result<TcpConfig, BuildError> {
        let shims = transport.shims.iter().map(shim::build).collect::<Result<_, _>>()?;
        Ok(TcpConfig { stack: transport.stack.clone(), law: cc::build(&transport.law)?, shims })
    }
}

/// A configuration has all the properties of its stack.
impl Deref for TcpConfig {
    type Target = Stack;
    #[inline(always)]
    fn deref(&self) -> &Stack {
        &self.stack
    }
}

impl DerefMut for TcpConfig {
    fn deref_mut(&mut self) -> &mut Stack {
        &mut self.stack
    }
}
