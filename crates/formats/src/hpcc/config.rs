//! HPCC's `config.txt`: marking thresholds by link rate, memory of switches, and the end of the run. A line is a key and its values.

use crate::FileError;
use crate::fabric::{Fabric, Failure, Marking};
use crate::tokens::words_of_lines;
use forebay_types::{Rate, Time};
use std::collections::BTreeMap;

/// Keys without a counterpart here: rate control of RDMA, output files, samples.
const NO_EFFECT: &[&str] = &[
    "USE_DYNAMIC_PFC_THRESHOLD",
    "PAUSE_TIME",
    "DATA_RATE",
    "LINK_DELAY",
    "TRACE_FILE",
    "TRACE_OUTPUT_FILE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
    "ALPHA_RESUME_INTERVAL",
    "RATE_DECREASE_INTERVAL",
    "CLAMP_TARGET_RATE",
    "RP_TIMER",
    "EWMA_GAIN",
    "FAST_RECOVERY_TIMES",
    "RATE_AI",
    "RATE_HAI",
    "MIN_RATE",
    "DCTCP_RATE_AI",
    "L2_CHUNK_SIZE",
    "L2_ACK_INTERVAL",
    "L2_BACK_TO_ZERO",
    "HAS_WIN",
    "GLOBAL_T",
    "VAR_WIN",
    "FAST_REACT",
    "U_TARGET",
    "MI_THRESH",
    "INT_MULTI",
    "MULTI_RATE",
    "SAMPLE_FEEDBACK",
    "PINT_LOG_BASE",
    "PINT_PROB",
    "RATE_BOUND",
    "ACK_HIGH_PRIO",
    "ENABLE_TRACE",
    "QLEN_MON_FILE",
    "QLEN_MON_START",
    "QLEN_MON_END",
];

/// Congestion controls by number.
const CC_MODES: &[(u32, &str)] = &[(1, "DCQCN"), (3, "HPCC"), (7, "TIMELY"), (8, "DCTCP"), (10, "HPCC-PINT")];

/// HPCC counts the time of `LINK_DOWN` from here.
const FAILURES_BEGIN: Time = Time::from_secs(2);

/// Settings of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Config {
    file: String,
    /// Thresholds by rate of the link, bytes; the line of each map.
    kmin: Map<u64>,
    kmax: Map<u64>,
    pmax: Map<String>,
    /// False if switches do not mark.
    marks: bool,
    /// Memory of a switch, bytes.
    buffer: Option<u64>,
    /// Payload of a packet, bytes.
    mss: Option<u32>,
    /// End of the simulation.
    stop: Option<Time>,
    /// Name of its congestion control.
    cc: Option<&'static str>,
    /// Loss probability of links without one of their own.
    loss: Option<String>,
    /// A link that fails: line, time and ends.
    link_down: Option<(usize, Time, String, String)>,
}

/// Values by rate of the link.
#[derive(Debug)]
struct Map<T> {
    line: usize,
    values: BTreeMap<u64, T>,
}

impl<T> Default for Map<T> {
    fn default() -> Map<T> {
        Map { line: 0, values: BTreeMap::new() }
    }
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Unknown keys, and values out of range.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Config, FileError> {
        let mut config = Config { file: file.to_owned(), marks: true, ..Config::default() };
        for (line, words) in words_of_lines(text) {
            config.set(line, words[0], &words[1..]).map_err(|e| FileError::at(file, line, e))?;
        }
        Ok(config)
    }

    /// Payload of a packet, bytes.
    pub(crate) fn mss(&self) -> Option<u32> {
        self.mss
    }

    /// End of the simulation.
    pub(crate) fn stop(&self) -> Option<Time> {
        self.stop
    }

    /// Name of its congestion control.
    pub(crate) fn cc(&self) -> Option<&'static str> {
        self.cc
    }

    fn set(&mut self, line: usize, key: &str, values: &[&str]) -> Result<(), String> {
        let first = values.first().copied().unwrap_or_default();
        match key {
            "TOPOLOGY_FILE" | "FLOW_FILE" => {}
            "ENABLE_QCN" => self.marks = number::<u32>(key, first)? != 0,
            "PACKET_PAYLOAD_SIZE" => self.mss = Some(number(key, first)?),
            "SIMULATOR_STOP_TIME" => self.stop = Some(crate::quantity::time_in(first, "s")?),
            "CC_MODE" => {
                let mode = number::<u32>(key, first)?;
                let known = CC_MODES.iter().find(|(n, _)| *n == mode).map(|(_, name)| *name);
                self.cc = Some(known.ok_or_else(|| format!("CC_MODE {mode} is unknown; legal: 1, 3, 7, 8 and 10"))?);
            }
            "ERROR_RATE_PER_LINK" => {
                let p: f64 = number(key, first)?;
                if !(0.0..=1.0).contains(&p) {
                    return Err(format!("{key} {first} is not a probability, 0 to 1"));
                }
                self.loss = (p > 0.0).then(|| first.to_owned());
            }
            "LINK_DOWN" => {
                let [at, from, to, ..] = values else { return Err(format!("{key} has three values: time in us, node, node")) };
                let at: u32 = number(key, at)?;
                self.link_down =
                    (at > 0).then(|| (line, FAILURES_BEGIN + Time::from_us(at.into()), from.to_string(), to.to_string()));
            }
            "KMIN_MAP" => self.kmin = map(key, line, values, &|v| Ok(u64::from(number::<u32>(key, v)?) * 1000))?,
            "KMAX_MAP" => self.kmax = map(key, line, values, &|v| Ok(u64::from(number::<u32>(key, v)?) * 1000))?,
            "PMAX_MAP" => {
                self.pmax = map(key, line, values, &|v| {
                    let p: f64 = number(key, v)?;
                    if p > 0.0 && p <= 1.0 {
                        Ok(v.to_owned())
                    } else {
                        Err(format!("{key}: {v} is not a probability above 0, at most 1"))
                    }
                })?;
            }
            // The unit is MB of 1024 x 1024 bytes.
            "BUFFER_SIZE" => self.buffer = Some(u64::from(number::<u32>(key, first)?) << 20),
            other if NO_EFFECT.contains(&other) => {}
            other => {
                return Err(format!(
                    "`{other}` is not a key of HPCC's config.txt; remove the line if it changes neither links nor queues"
                ));
            }
        }
        Ok(())
    }

    /// Gives the links of `fabric` the queues of this configuration.
    ///
    /// # Errors
    /// A link rate without thresholds, and a failed link that does not exist.
    pub(crate) fn apply(&self, fabric: &mut Fabric) -> Result<(), FileError> {
        fabric.shared_buffer = self.buffer;
        let hosts: std::collections::BTreeSet<_> = fabric.hosts.iter().copied().collect();
        for link in &mut fabric.links {
            // Only switches have queues that mark.
            let at_switch = !hosts.contains(&link.from) || !hosts.contains(&link.to);
            if self.marks && at_switch {
                link.properties.marking = Some(self.marking(link.properties.rate)?);
            }
            if link.properties.loss.is_none() {
                link.properties.loss.clone_from(&self.loss);
            }
        }
        if let Some((line, down, from, to)) = &self.link_down {
            let ends = |l: &&crate::fabric::Link| {
                let (a, b) = (l.from.id.to_string(), l.to.id.to_string());
                (a == *from && b == *to) || (a == *to && b == *from)
            };
            let Some(link) = fabric.links.iter().find(ends) else {
                let error = format!("LINK_DOWN: there is no link between nodes {from} and {to}");
                return Err(FileError::at(&self.file, *line, error));
            };
            fabric.failures.push(Failure { from: link.from, to: link.to, down: *down });
        }
        Ok(())
    }

    fn marking(&self, rate: Rate) -> Result<Marking, FileError> {
        let missing = |key: &str, line: usize| {
            let error =
                format!("{key} has no entry for links of {rate}; add `{} VALUE`, and correct the number of entries", rate.0);
            if line == 0 { FileError::of(&self.file, error) } else { FileError::at(&self.file, line, error) }
        };
        let min = *self.kmin.values.get(&rate.0).ok_or_else(|| missing("KMIN_MAP", self.kmin.line))?;
        let max = *self.kmax.values.get(&rate.0).ok_or_else(|| missing("KMAX_MAP", self.kmax.line))?;
        let p_max = self.pmax.values.get(&rate.0).ok_or_else(|| missing("PMAX_MAP", self.pmax.line))?.clone();
        if min > max || max == 0 {
            let error =
                format!("links of {rate}: KMIN {} KB, KMAX {} KB; KMAX is above 0, and at least KMIN", min / 1000, max / 1000);
            return Err(FileError::at(&self.file, self.kmax.line, error));
        }
        Ok(Marking { min, max, p_max })
    }
}

fn number<T: std::str::FromStr>(key: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| {
        if text.is_empty() { format!("{key} has no value") } else { format!("{key}: `{text}` is not a number in range") }
    })
}

/// Reads the number of entries, then `rate value` for each.
fn map<T>(key: &str, line: usize, values: &[&str], value: &dyn Fn(&str) -> Result<T, String>) -> Result<Map<T>, String> {
    let count: usize = number(key, values.first().copied().unwrap_or_default())?;
    let pairs = &values[1..];
    if pairs.len() / 2 < count {
        return Err(format!("{key} announces {count} entries `rate value`, and has {}", pairs.len() / 2));
    }
    let entries = pairs.chunks_exact(2).take(count).map(|pair| Ok((number::<u64>(key, pair[0])?, value(pair[1])?)));
    Ok(Map { line, values: entries.collect::<Result<_, String>>()? })
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use super::*;

    const TOPOLOGY: &str = "4 1 3\n3\n0 3 25Gbps 1us 0\n1 3 25Gbps 1us 0.01\n2 3 100Gbps 1us 0\n";
    const CONFIG: &str = "ENABLE_QCN 1\nCC_MODE 3\nPACKET_PAYLOAD_SIZE 1000\nSIMULATOR_STOP_TIME 4.00\nRP_TIMER 900 \n\
                          ERROR_RATE_PER_LINK 0.0000\nLINK_DOWN 0 0 0\nKMAX_MAP 2 25000000000 400 100000000000 1600\n\
                          KMIN_MAP 2 25000000000 100 100000000000 400\nPMAX_MAP 2 25000000000 0.2 100000000000 0.2\nBUFFER_SIZE 32\n";

    fn applied(config: &str) -> Result<Fabric, String> {
        let mut fabric = Topology::parse("t", TOPOLOGY, false).unwrap().fabric().clone();
        let config = Config::parse("c.txt", config).map_err(|e| e.to_string())?;
        config.apply(&mut fabric).map_err(|e| e.to_string())?;
        Ok(fabric)
    }

    #[test]
    fn thresholds_follow_the_rate() {
        let fabric = applied(CONFIG).unwrap();
        let marking = |i: usize| fabric.links[i].properties.marking.clone().unwrap();
        assert_eq!(marking(0), Marking { min: 100_000, max: 400_000, p_max: "0.2".into() });
        assert_eq!(marking(2).max, 1_600_000);
        assert_eq!((fabric.shared_buffer, fabric.failures.len()), (Some(32 << 20), 0));
        let config = Config::parse("c", CONFIG).unwrap();
        assert_eq!((config.mss, config.stop, config.cc), (Some(1000), Some(Time::from_secs(4)), Some("HPCC")));
    }

    #[test]
    fn failure_and_losses() {
        let text = CONFIG.replace("LINK_DOWN 0 0 0", "LINK_DOWN 5000 3 2").replace("LINK 0.0000", "LINK 0.001");
        let fabric = applied(&text).unwrap();
        assert_eq!(fabric.failures[0].down, Time::from_ms(2005));
        let losses: Vec<_> = fabric.links.iter().map(|l| l.properties.loss.as_deref()).collect();
        assert_eq!(losses, [Some("0.001"), Some("0.01"), Some("0.001")]);
        assert!(applied(&CONFIG.replace("ENABLE_QCN 1", "ENABLE_QCN 0")).unwrap().links[0].properties.marking.is_none());
    }

    #[test]
    fn errors_name_the_line() {
        for (from, to, error) in [
            ("ENABLE_QCN 1", "ENABLE_ECN 1", "c.txt:1: `ENABLE_ECN` is not a key"),
            ("CC_MODE 3", "CC_MODE 4", "c.txt:2: CC_MODE 4 is unknown"),
            ("SIZE 1000", "SIZE big", "c.txt:3: PACKET_PAYLOAD_SIZE: `big` is not a number"),
            ("SIZE 1000", "SIZE", "c.txt:3: PACKET_PAYLOAD_SIZE has no value"),
            ("KMIN_MAP 2 2500", "KMIN_MAP 2 2600", "c.txt:9: KMIN_MAP has no entry for links of 25Gbps"),
            ("KMAX_MAP 2", "KMAX_MAP 3", "c.txt:8: KMAX_MAP announces 3 entries"),
            ("KMAX_MAP 2 25000000000 400", "KMAX_MAP 2 25000000000 40", "c.txt:8: links of 25Gbps: KMIN 100 KB, KMAX 40 KB"),
            ("25000000000 0.2", "25000000000 1.2", "c.txt:10: PMAX_MAP: 1.2 is not a probability"),
            ("LINK_DOWN 0 0 0", "LINK_DOWN 5 0 1", "c.txt:7: LINK_DOWN: there is no link between nodes 0 and 1"),
            ("STOP_TIME 4.00", "STOP_TIME soon", "c.txt:4: `soon` is not a number of s"),
        ] {
            let found = applied(&CONFIG.replace(from, to)).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
        let found = applied(&CONFIG.replace("PMAX_MAP", "# PMAX_MAP")).unwrap_err();
        assert!(found.starts_with("c.txt: PMAX_MAP has no entry"), "{found}");
    }
}
