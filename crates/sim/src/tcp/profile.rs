//! Stack profiles, and configurations of them for tests.

pub use forebay_experiment::profile::*;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cc;
    use crate::tcp::config::TcpConfig;
    use forebay_experiment::transport::{Ecn, Profile, Recovery};
    use forebay_types::param::{Kind, Value, Values};

    /// Configuration of a profile with the defaults of a congestion control.
    pub(crate) fn config(stack: &str, cc: &str) -> TcpConfig {
        let entry = cc::find(cc).unwrap();
        let defaults = entry.entry.params.iter().map(|p| {
            let text = p.default.unwrap();
            let value = match p.kind {
                Kind::Float(..) => Value::Float(text.parse().unwrap()),
                _ if text.is_empty() => Value::Unset,
                Kind::Bool => Value::Bool(text == "true"),
                Kind::Int(..) => Value::Int(text.parse().unwrap()),
                Kind::QueueLen => Value::QueueLen(text.parse().unwrap()),
                Kind::Time => Value::Time(text.parse().unwrap()),
                Kind::Rate => Value::Rate(text.parse().unwrap()),
                Kind::Bytes => Value::Bytes(text.parse().unwrap()),
                _ => Value::Text(text.to_owned()),
            };
            (p.key, value)
        });
        let unset = Values(PARAMS.iter().map(|p| (p.key, Value::Unset)).collect());
        TcpConfig::of(&resolve(Profile::of(stack).unwrap(), entry, Values(defaults.collect()), &unset)).unwrap()
    }

    #[test]
    fn profiles_differ_as_documented() {
        assert_eq!(config("ns2", "reno").recovery, Recovery::Reno);
        assert_eq!(config("ns2", "newreno").recovery, Recovery::NewReno);
        assert_eq!(config("linux", "reno").recovery, Recovery::Rack);
        assert_eq!(config("rfc", "dctcp").recovery, Recovery::Sack);
        assert_eq!(config("rfc", "dctcp").ecn, Ecn::Dctcp);
        assert_eq!(PROFILES.len(), SUMMARIES.len());
    }
}
