//! Configuration of a transport for the endpoints.

use crate::cc::{self, CcConfig};
use crate::shim::{self, Shims};
use forebay_experiment::topology::BuildError;
use forebay_experiment::transport::{Stack, Transport};
use std::ops::{Deref, DerefMut};

/// Stack with congestion control and shims of this simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    /// Everything but congestion control and shims.
    pub stack: Stack,
    /// Congestion control.
    pub cc: CcConfig,
    /// Shims, at most one in each place.
    pub shims: Shims,
}

impl TcpConfig {
    /// Builds the configuration that `transport` describes.
    ///
    /// # Errors
    /// A congestion control or a shim that the registries do not have, or parameters that it refuses.
    pub fn of(transport: &Transport) -> Result<TcpConfig, BuildError> {
        let shims = transport.shims.iter().map(shim::build).collect::<Result<_, _>>()?;
        Ok(TcpConfig { stack: transport.stack.clone(), cc: cc::build(&transport.cc)?, shims })
    }

    /// Returns true if receivers take their RTT from the timestamps that segments echo. Ranks leave no space for the echo.
    pub(in crate::tcp) fn echoes_timestamps(&self) -> bool {
        self.timestamps && (self.quickack || self.rcv_autotune) && !self.shims.tag.as_ref().is_some_and(|t| t.has_ranks())
    }
}

/// A configuration has all properties of its stack.
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
