//! Flow lists and scenarios.

use crate::generator::*;
use forebay_formats::trains::{
    Anonymise, FlowList, HostNames, HostRules, Network, Options, Resample, replay_scenario, resample_scenario,
};
use std::io::Cursor;

fn network(anonymise: Anonymise) -> Network {
    Network { rate: "10Gbps".into(), names: HostNames::new(anonymise), name: "mine".into() }
}

/// Connections of several clients, 1 ms apart.
fn capture() -> Vec<u8> {
    let mut all = Vec::new();
    for i in 0..3_u64 {
        let client = format!("10.0.1.{i}");
        all.extend(conversation((&client, 4_000), SERVER).into_iter().map(|(time, t)| (time + i * 1_000_000, t)));
    }
    FORM.pcap(&cut(&all, 96, |t| t.frame(&[])))
}

#[test]
fn starts_are_those_of_first_packets() {
    let mut text = Cursor::new(Vec::new());
    let (summary, list) = analyze(&capture(), Options::default(), FlowList::new(&mut text, HostNames::new(Anonymise::Off)));
    let replay = list.finish().unwrap();
    assert_eq!((replay.flows, replay.within_host, replay.handshakes, replay.busiest), (6, 0, false, 1));
    let text = String::from_utf8(text.into_inner()).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').map(str::trim).collect();
    assert_eq!(header, ["src", "dst", "bytes", "opened_ns", "start_ns"]);
    assert!(text.contains("\nh0,h1,10000,0,110000\n") && text.contains("\nh1,h3,500,2300000,2300000\n"), "{text}");
    let scenario = replay_scenario(&summary, &replay, &network(Anonymise::Off), "mine.csv");
    assert!(
        scenario.contains("# h3 is 10.0.1.2\n")
            && scenario.contains("handshake = false")
            && scenario.contains("delay = \"25000ns\"")
    );
    let scenario = replay_scenario(&summary, &replay, &network(Anonymise::Order), "mine.csv");
    assert!(!scenario.contains("10.0."), "{scenario}");
}

/// Two of the clients are one host by the rules, and the server has no rule.
#[test]
fn rules_name_the_hosts() {
    let rules = "10.0.1.0/31,web\n10.0.1.0/24,rack-*\n";
    let names = HostNames::new(Anonymise::Off).with_rules(HostRules::parse("rules", rules).unwrap());
    let mut text = Cursor::new(Vec::new());
    let (summary, list) = analyze(&capture(), Options::default(), FlowList::new(&mut text, names.clone()));
    let replay = list.finish().unwrap();
    let text = String::from_utf8(text.into_inner()).unwrap();
    assert!(text.contains("\nweb,other1,10000,0,110000\n") && text.contains("\nother1,rack-2,500,"), "{text}");
    let scenario = replay_scenario(&summary, &replay, &Network { names, ..network(Anonymise::Off) }, "mine.csv");
    for part in ["hosts = [\"web\", \"other1\", \"rack-2\"]", "\"switch->other1\"", "# web is 10.0.1.1\n"] {
        assert!(scenario.contains(part), "{part}: {scenario}");
    }
    assert_eq!(scenario.matches("from = \"web\"").count(), 1);
}

#[test]
fn starts_are_those_of_connections() {
    let mut text = Cursor::new(Vec::new());
    let one_way = conversation(CLIENT, SERVER).into_iter().filter(|(_, t)| t.src.0 == ip(CLIENT.0) || t.payload == 0);
    let mut all: Vec<_> = one_way.collect();
    all.truncate(6);
    let bytes = FORM.pcap(&cut(&all, 96, |t| t.frame(&[])));
    let (summary, list) = analyze(&bytes, Options::default(), FlowList::new(&mut text, HostNames::new(Anonymise::Off)));
    let replay = list.finish().unwrap();
    assert!(replay.handshakes);
    let text = String::from_utf8(text.into_inner()).unwrap();
    assert_eq!(text.replace(' ', ""), "src,dst,bytes,start_ns,data_ns\nh0,h1,10000,0,110000\n");
    assert!(!replay_scenario(&summary, &replay, &network(Anonymise::Off), "x").contains("handshake ="));
}

#[test]
fn messages_within_a_host() {
    let bytes = FORM.pcap(&cut(&conversation(CLIENT, (CLIENT.0, 80)), 96, |t| t.frame(&[])));
    let (_, list) = analyze(&bytes, Options::default(), FlowList::new(Cursor::new(Vec::new()), HostNames::new(Anonymise::Off)));
    let replay = list.finish().unwrap();
    assert_eq!((replay.flows, replay.within_host), (0, 2));
}

#[test]
fn few_sizes_are_resampled_exactly() {
    let (summary, resample) = analyze(&capture(), Options::default(), Resample::default());
    assert_eq!(resample.size_table().lines().skip(1).collect::<Vec<_>>(), ["500 0", "500 0.5", "10000 0.5", "10000 1"]);
    let scenario = resample_scenario(&summary, &resample, &network(Anonymise::Order), "mine.cdf");
    assert!(scenario.contains("kind = \"poisson\"") && scenario.contains("flows = 6"), "{scenario}");
    assert!(scenario.contains("from = [\"h0\", \"h1\", \"h2\", \"h3\"]"), "{scenario}");
}
