//! Bodies of kernels in listings and as control-flow graphs.

use std::collections::{BTreeMap, BTreeSet};

use ::linx::{BodyBlock, Encoding, Program as Code, Runs};
use isa::{Diagnostics, SourceFile};

use super::super::shared::refused;
use super::KERNEL;
use super::program::LinxProgram;
use crate::graph::{ControlFlow, FlowBlock, PostDominator};

/// Width of the column that says what an instruction runs for.
const RUNS: usize = 5;

/// Returns the listing of an assembled text: each instruction of a body with the body and with what
/// it runs for, the lanes of `p` or once for the group.
pub(super) fn listing(
    assembled: &isa::asm::Image,
    text: &str,
    encoding: Encoding,
) -> Result<String, Diagnostics> {
    let code = Code::from_image(assembled, encoding);
    let code = code.map_err(|error| refused("linx::load", error.to_string()))?;
    let symbols = assembled.symbols.iter().filter(|symbol| symbol.address);
    let labels: BTreeMap<u64, &str> = symbols.map(|s| (s.value, s.name.as_str())).collect();
    let mut regions: BTreeMap<u64, (String, &str)> = BTreeMap::new();
    for entry in code.bodies(assembled.lines.iter().map(|line| line.address)) {
        let name = labels.get(&entry).map_or_else(|| format!("{entry:#x}"), |n| (*n).to_owned());
        for (at, runs) in code.body(entry) {
            let runs = match runs {
                Runs::Lanes => "lanes",
                Runs::Once => "once",
            };
            regions.entry(at).or_insert_with(|| (name.clone(), runs));
        }
    }
    let width = regions.values().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let plain = assembled.listing(&SourceFile::new("", text));
    Ok(plain.lines().map(|line| in_region(line, &regions, width) + "\n").collect())
}

/// Inserts the columns before the text of an instruction's line.
fn in_region(line: &str, regions: &BTreeMap<u64, (String, &str)>, width: usize) -> String {
    // Address, bytes and line number, with two blanks behind each.
    let address = line.split_whitespace().next().and_then(|a| u64::from_str_radix(a, 16).ok());
    let code = line.find(' ').is_some_and(|end| end < 16);
    let text = line.find(' ').map(|end| end + 2 + 18 + 2 + 5 + 2);
    let (Some(address), Some(at), true) = (address, text, code) else { return line.to_owned() };
    let Some((before, behind)) = line.split_at_checked(at) else { return line.to_owned() };
    let (name, runs) = regions.get(&address).map_or(("", ""), |(name, runs)| (name, *runs));
    format!("{before}{name:<width$}  {runs:<RUNS$}  {behind}")
}

impl LinxProgram {
    /// The bodies of all kernels as one graph.
    pub(super) fn graph(&self) -> Option<ControlFlow> {
        let entries = self.code.bodies(self.listing.lines.iter().map(|line| line.address));
        if entries.is_empty() {
            return None;
        }
        let mut flow = ControlFlow {
            kernel: KERNEL.to_owned(),
            notes: vec![
                "bodies of kernels; edges name the condition and where p may come from".to_owned(),
            ],
            blocks: Vec::new(),
        };
        for entry in entries {
            let blocks = self.code.body_graph(entry);
            let first = flow.blocks.len();
            let label = self.labels.iter().find(|(_, at)| **at == entry).map(|(name, _)| name);
            let name = label.map_or_else(|| format!("{entry:#x}"), String::clone);
            for block in &blocks {
                flow.blocks.push(self.flow_block(block, (entry, &name), first));
            }
        }
        Some(flow)
    }

    fn flow_block(&self, block: &BodyBlock, (entry, body): (u64, &str), first: usize) -> FlowBlock {
        let start = block.at.first().copied().unwrap_or(entry);
        let name = match start - entry {
            0 => body.to_owned(),
            distance => format!("{body}+{distance:#x}"),
        };
        let text = |at: &u64| self.code.text_at(*at).unwrap_or_default();
        let line = |at: u64| self.listing.span(at).and_then(|span| self.listing.line(span));
        let out = match block.writes {
            Some(writer) => BTreeSet::from([Some(writer)]),
            None => block.masks.clone(),
        };
        let mask = self.mask(&out);
        let edge = |(next, why): &(usize, String)| {
            let why = if why.is_empty() { mask.clone() } else { format!("{why}; {mask}") };
            (first + next, why)
        };
        FlowBlock {
            name,
            instructions: block.at.iter().map(text).collect(),
            successors: block.next.iter().map(edge).collect(),
            post_dominator: match block.rejoin {
                Some(rejoin) => PostDominator::Block(first + rejoin),
                None if block.leads_out => PostDominator::Exit,
                None => PostDominator::None,
            },
            line: line(start),
            lines: block.at.iter().filter_map(|at| line(*at)).collect(),
            frontier: Vec::new(),
            notes: vec![format!("at its start {}", self.mask(&block.masks))],
        }
    }

    /// Where the mask may come from.
    fn mask(&self, writers: &BTreeSet<Option<u64>>) -> String {
        let writer = |writer: &Option<u64>| match writer {
            None => "the start".to_owned(),
            Some(at) => match self.listing.span(*at).and_then(|span| self.listing.line(span)) {
                Some(line) => format!("line {line}"),
                None => format!("{at:#x}"),
            },
        };
        match writers.iter().map(writer).collect::<Vec<_>>() {
            writers if writers.is_empty() => "nothing leads here".to_owned(),
            writers => format!("p from {}", writers.join(" or ")),
        }
    }
}
