//! Parameters of the shared packet memory of switches, which every topology has.

use super::{BuildError, switches};
use forebay_queues::{SharedBuffer, SharedPolicy};
use forebay_types::param::{Kind, Param, Values, optional};

/// Size of the pool.
pub(crate) const TOTAL: Param = optional(
    "shared-buffer",
    Kind::Bytes,
    "",
    "packet memory that all ports of a switch share, in wire bytes; a port's own `buffer` still applies. Default: no shared limit",
);
/// A switch by name, instead of the size.
pub(crate) const SWITCH: Param = optional(
    "shared-switch",
    Kind::Choice(switches::NAMES),
    "",
    "switch of `forebay list switches`: sets `shared-buffer`, and `shared-alpha` if it was published",
);
/// Dynamic threshold.
pub(crate) const ALPHA: Param = optional(
    "shared-alpha",
    Kind::Float(0.001, 1000.0),
    "",
    "dynamic threshold: a port may hold alpha times the free part of `shared-buffer` (Choudhury and Hahne, 1998). Default: 1",
);
/// Static threshold.
pub(crate) const PER_PORT: Param = optional(
    "shared-per-port",
    Kind::Bytes,
    "",
    "static threshold instead of `shared-alpha`: bytes of `shared-buffer` that one port may hold",
);

/// Shared memory of each switch; `None` if the scenario sets none.
pub(crate) fn from_values(values: &Values) -> Result<Option<SharedBuffer>, BuildError> {
    let named = values.opt_text(SWITCH.key).and_then(|name| switches::switch(&name));
    let (total, mut alpha, per_port) =
        (values.opt_bytes(TOTAL.key), values.opt_float(ALPHA.key), values.opt_bytes(PER_PORT.key).map(|b| b.0));
    if let (Some(_), Some(switch)) = (total, named) {
        let text = format!("`{}` and `{}` = \"{}\" set different sizes: remove one", TOTAL.key, SWITCH.key, switch.name);
        return Err(BuildError::new(SWITCH.key, text));
    }
    if alpha.is_none() && per_port.is_none() {
        alpha = named.and_then(|s| s.alpha);
    }
    let Some(total) = total.map(|b| b.0).or(named.map(|s| s.memory)) else {
        let lonely = if alpha.is_some() { ALPHA.key } else { PER_PORT.key };
        return match (alpha, per_port) {
            (None, None) => Ok(None),
            _ => Err(BuildError::new(lonely, format!("has no meaning without `{}` or `{}`", TOTAL.key, SWITCH.key))),
        };
    };
    if total == 0 {
        return Err(BuildError::new(TOTAL.key, "a shared memory of zero drops every packet; leave it out for no shared limit"));
    }
    let policy = match (alpha, per_port) {
        (Some(_), Some(_)) => {
            return Err(BuildError::new(
                PER_PORT.key,
                format!("`{}` (static) and `{}` (dynamic) exclude each other", PER_PORT.key, ALPHA.key),
            ));
        }
        (alpha, None) => SharedPolicy::Dynamic { alpha: alpha.unwrap_or(1.0) },
        (None, Some(per_port)) if per_port == 0 || per_port > total => {
            return Err(BuildError::new(PER_PORT.key, format!("must be between 1B and `{}` ({total}B)", TOTAL.key)));
        }
        (None, Some(per_port)) => SharedPolicy::Static { per_port },
    };
    Ok(Some(SharedBuffer { total, policy }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Bytes;
    use forebay_types::param::Value;

    fn build(total: Option<u64>, alpha: Option<f64>, per_port: Option<u64>) -> Result<Option<SharedBuffer>, BuildError> {
        with_switch(None, total, alpha, per_port)
    }

    fn with_switch(
        switch: Option<&str>,
        total: Option<u64>,
        alpha: Option<f64>,
        per_port: Option<u64>,
    ) -> Result<Option<SharedBuffer>, BuildError> {
        let bytes = |v: Option<u64>| v.map_or(Value::Unset, |n| Value::Bytes(Bytes(n)));
        from_values(&Values(vec![
            (SWITCH.key, switch.map_or(Value::Unset, |s| Value::Text(s.into()))),
            (TOTAL.key, bytes(total)),
            (ALPHA.key, alpha.map_or(Value::Unset, Value::Float)),
            (PER_PORT.key, bytes(per_port)),
        ]))
    }

    #[test]
    fn static_dynamic_or_none() {
        assert_eq!(build(None, None, None), Ok(None));
        let dynamic = |alpha| Ok(Some(SharedBuffer { total: 9_000, policy: SharedPolicy::Dynamic { alpha } }));
        assert_eq!(build(Some(9_000), None, None), dynamic(1.0));
        assert_eq!(build(Some(9_000), Some(0.2), None), dynamic(0.2));
        let fixed = SharedBuffer { total: 9_000, policy: SharedPolicy::Static { per_port: 3_000 } };
        assert_eq!(build(Some(9_000), None, Some(3_000)), Ok(Some(fixed)));
    }

    #[test]
    fn a_switch_by_name() {
        let dynamic = |total, alpha| Ok(Some(SharedBuffer { total, policy: SharedPolicy::Dynamic { alpha } }));
        assert_eq!(with_switch(Some("trident2"), None, None, None), dynamic(12_000_000, 1.26));
        assert_eq!(with_switch(Some("trident2"), None, Some(4.0), None), dynamic(12_000_000, 4.0));
        assert_eq!(with_switch(Some("scorpion"), None, None, None), dynamic(4_000_000, 1.0));
        let fixed = SharedBuffer { total: 12_000_000, policy: SharedPolicy::Static { per_port: 500_000 } };
        assert_eq!(with_switch(Some("trident2"), None, None, Some(500_000)), Ok(Some(fixed)));
        assert_eq!(with_switch(Some("trident2"), Some(9), None, None).unwrap_err().key, "shared-switch");
    }

    #[test]
    fn contradictions_name_the_key() {
        let key = |r: Result<_, BuildError>| r.map(|_: Option<SharedBuffer>| ()).unwrap_err().key;
        assert_eq!(key(build(None, Some(1.0), None)), "shared-alpha");
        assert_eq!(key(build(None, None, Some(1))), "shared-per-port");
        assert_eq!(key(build(Some(9), Some(1.0), Some(3))), "shared-per-port");
        assert_eq!(key(build(Some(9), None, Some(10))), "shared-per-port");
        assert_eq!(key(build(Some(0), None, None)), "shared-buffer");
    }
}
