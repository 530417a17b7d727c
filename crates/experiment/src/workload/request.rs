//! Requests of `incast` and `queries`: messages over the network, or events outside of it.

use super::BuildError;
use crate::traffic::Request;
use forebay_types::param::{Kind, Param, Values, optional};
use forebay_types::{Bytes, Time};

/// Size of a request. Our choice, without a source: that of the workload `requests`, one small segment. The slides on DCTCP and the publications on
/// incast that `forebay repro` repeats state no size. A query from an aggregator to a worker in the production cluster of the DCTCP paper (Alizadeh
/// et al., SIGCOMM 2010) has 1.6 KB, two segments: set `request = "1.6KB"`.
const DEFAULT: Bytes = Bytes(100);

/// Payload of a request.
pub(super) const REQUEST: Param = optional(
    "request",
    Kind::BytesOrZero,
    "",
    "payload bytes of a request, which a server answers when all of it has arrived. It travels on a persistent connection from the client to the \
     server, with the transport of the answers. `0B`: requests are not packets but arrive after `request-latency` and are never lost. Default: \
     100B; 0B if `request-latency` is set",
);

/// Latency of requests that are not sent over the network.
pub(super) const REQUEST_LATENCY: Param = optional(
    "request-latency",
    Kind::Time,
    "",
    "one-way latency of a request outside of the network (`request = \"0B\"`), above zero. Default: propagation and serialization of an ACK-sized \
     packet on the empty path",
);

/// Form of the connections of requests and answers.
pub(super) const TWO_WAY: Param = optional(
    "two-way",
    Kind::Bool,
    "false",
    "requests and their answers travel on one TCP connection, which the client opens: an answer acknowledges its request, and the next request the \
     answer. `false`: on a connection for each direction",
);

/// Form of requests from [`REQUEST`] and [`REQUEST_LATENCY`].
pub(super) fn request(values: &Values) -> Result<Request, BuildError> {
    let latency = values.opt_time(REQUEST_LATENCY.key);
    if latency == Some(Time::ZERO) {
        let reason = "is 0; legal: above zero (1ps or more), since a request takes time to reach another host. Leave the key out \
                      for the latency of an ACK-sized packet on the empty path";
        return Err(BuildError::new(REQUEST_LATENCY.key, reason));
    }
    match (values.opt_bytes(REQUEST.key), latency) {
        (Some(Bytes(0)), _) | (None, Some(_)) if values.bool(TWO_WAY.key) => {
            let reason = "is true, but requests are not sent over the network; legal: requests of 1B or more (`request`), without `request-latency`";
            Err(BuildError::new(TWO_WAY.key, reason))
        }
        (Some(Bytes(0)), latency) | (None, latency @ Some(_)) => Ok(Request::OutOfBand(latency)),
        (Some(_), Some(_)) => {
            let reason = "is for requests outside of the network: set `request = \"0B\"`, or leave this key out";
            Err(BuildError::new(REQUEST_LATENCY.key, reason))
        }
        (bytes, None) => Ok(Request::Packets { bytes: bytes.unwrap_or(DEFAULT).0, two_way: values.bool(TWO_WAY.key) }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use crate::traffic::WorkloadKind;
    use forebay_types::param::Value;

    #[test]
    fn latency_means_out_of_band() {
        let w = World::many_to_one(4);
        let with = |more: &[(&'static str, Value)]| {
            let given = [&[("block", Value::Bytes(Bytes(1_000)))], more].concat();
            w.build("incast", &given).map(|kind| match kind {
                WorkloadKind::Incast { request, .. } => request,
                other => panic!("{other:?}"),
            })
        };
        let bytes = |n| ("request", Value::Bytes(Bytes(n)));
        let latency = ("request-latency", Value::Time(Time::from_us(3)));
        assert_eq!(with(&[]).unwrap(), Request::Packets { bytes: 100, two_way: false });
        assert_eq!(with(&[bytes(2_000)]).unwrap(), Request::Packets { bytes: 2_000, two_way: false });
        assert_eq!(with(&[bytes(0)]).unwrap(), Request::OutOfBand(None));
        let late = Request::OutOfBand(Some(Time::from_us(3)));
        assert_eq!(with(std::slice::from_ref(&latency)).unwrap(), late);
        assert_eq!(with(&[bytes(0), latency.clone()]).unwrap(), late);
        assert_eq!(with(&[bytes(1), latency]).unwrap_err().key, "request-latency");
        assert_eq!(with(&[("request-latency", Value::Time(Time::ZERO))]).unwrap_err().key, "request-latency");
    }
}
