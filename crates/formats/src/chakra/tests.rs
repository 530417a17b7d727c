use super::trace::{Attribute, Bools, GlobalMetadata};
use super::*;
use prost::Message;

fn attribute(name: &str, value: u64) -> Attribute {
    Attribute { name: name.into(), uint64: Some(value), ..Attribute::default() }
}

fn node(id: u64, kind: i32, deps: &[u64], attributes: &[(&str, u64)]) -> Node {
    let attr = attributes.iter().map(|(name, value)| attribute(name, *value)).collect();
    Node { id, kind, data_deps: deps.to_vec(), attr, ..Node::default() }
}

fn calc(id: u64, deps: &[u64], duration_micros: u64) -> Node {
    Node { duration_micros, ..node(id, trace::COMP, deps, &[]) }
}

/// A file as Chakra's generator writes it.
fn file(nodes: &[Node]) -> Vec<u8> {
    let mut out = GlobalMetadata { version: "0.0.4".into() }.encode_length_delimited_to_vec();
    nodes.iter().for_each(|n| n.encode_length_delimited(&mut out).unwrap());
    out
}

fn rows_of(files: &[(&str, Vec<u8>)]) -> Result<Vec<String>, String> {
    let hosts: Vec<Host> = (0..4).map(|id| Host { kind: "h", id }).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    let set = read(&files, &hosts, &mut Vec::new()).map_err(|e| e.to_string())?;
    Ok(set.lists()[0].1.lines().skip(1).map(str::to_owned).collect())
}

fn rows(ranks: &[Vec<Node>]) -> Result<Vec<String>, String> {
    let names: Vec<String> = (0..ranks.len()).map(|r| format!("t.{r}.et")).collect();
    rows_of(&names.iter().map(String::as_str).zip(ranks.iter().map(|n| file(n))).collect::<Vec<_>>())
}

#[test]
fn send_and_receive() {
    let send = [("comm_size", 4096), ("comm_dst", 1), ("comm_tag", 3)];
    let recv = [("comm_size", 4096), ("comm_src", 0), ("comm_tag", 3)];
    let back = [("comm_size", 8), ("comm_dst", 0)];
    let ranks = [
        vec![
            calc(1, &[], 5),
            node(2, trace::COMM_SEND, &[1], &send),
            node(3, trace::COMM_RECV, &[], &[("comm_size", 8), ("comm_src", 1)]),
        ],
        vec![node(7, trace::COMM_RECV, &[], &recv), calc(8, &[7], 2), node(9, trace::COMM_SEND, &[8], &back)],
    ];
    assert_eq!(rows(&ranks).unwrap(), ["0,h0,h1,4096,0,@5000000ps", "1,h1,h0,8,0,0@2000000ps"]);
}

/// Ring of three ranks: four steps, in each of which a rank passes on the part that it has received before.
#[test]
fn all_reduce_on_a_ring() {
    let of = |_| vec![node(1, trace::COMM_COLL, &[], &[("comm_size", 3000), ("comm_type", 0)])];
    let rows = rows(&[0, 1, 2].map(of)).unwrap();
    assert_eq!(rows.len(), 12);
    assert_eq!(rows[..4], ["0,h0,h1,1000,0,", "1,h0,h1,1000,0,8", "2,h0,h1,1000,0,0 9", "3,h0,h1,1000,0,0 10"]);
}

#[test]
fn all_to_all_is_direct() {
    let of = |_| vec![node(1, trace::COMM_COLL, &[], &[("comm_size", 3000), ("comm_type", 6)])];
    let rows = rows(&[0, 1, 2].map(of)).unwrap();
    assert_eq!(rows.len(), 6);
    assert!(rows.iter().all(|r| r.ends_with(",1000,0,")), "{rows:?}");
}

#[test]
fn errors_name_the_node() {
    let coll = |kind| vec![node(1, trace::COMM_COLL, &[], &[("comm_size", 30), ("comm_type", kind)])];
    let other = |n: Node| [vec![n], coll(0)];
    let partial =
        Attribute { name: "involved_dim".into(), bools: Some(Bools { values: vec![true, false] }), ..Attribute::default() };
    let mut part = node(4, trace::COMM_COLL, &[], &[("comm_size", 30)]);
    part.attr.push(partial);
    for (ranks, error) in [
        ([coll(0), coll(2)], "t.1.et: node 1: all-gather of 30 B, and node 1 of t.0.et is all-reduce of 30 B"),
        ([coll(0), vec![]], "t.1.et: 0 collectives, and t.0.et has 1"),
        ([coll(5), coll(5)], "t.0.et: node 1: comm_type 5; legal: 0"),
        (other(part), "t.0.et: node 4: `involved_dim` excludes"),
        (other(node(5, 9, &[], &[])), "t.0.et: node 5: type 9"),
        (other(calc(5, &[6], 1)), "t.0.et: node 5: it waits for node 6"),
        (other(node(5, trace::COMM_SEND, &[], &[("comm_size", 1)])), "t.0.et: node 5: the attribute `comm_dst` is missing"),
        (other(node(5, trace::COMM_SEND, &[], &[("comm_dst", 1)])), "t.0.et: node 5: the attribute `comm_size`"),
        (
            other(node(5, trace::COMM_RECV, &[], &[("comm_src", 2), ("comm_size", 1)])),
            "t.0.et: node 5: comm_src 2; legal: 0 to 1",
        ),
    ] {
        let found = rows(&ranks).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
}

#[test]
fn files_of_all_ranks_are_needed() {
    let good = file(&[calc(1, &[], 1)]);
    for (files, error) in [
        (&[("t.0.et", good.clone()), ("t.2.et", good.clone())][..], "t.2.et: the trace of rank 1 is missing"),
        (&[("t.0.et", good.clone()), ("s.0.et", good.clone())], "s.0.et: t.0.et is a trace of rank 0 as well"),
        (&[("t.et", good.clone())], "t.et: the name does not end in the rank"),
        (&[("t.0.et", good.clone())], "t.0.et: one rank sends no messages"),
        (&[("t.0.et", vec![9, 9]), ("t.1.et", good.clone())], "t.0.et: this is not a Chakra trace"),
    ] {
        let found = rows_of(files).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
}
