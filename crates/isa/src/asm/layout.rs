//! Where statements lie: sections, location counters and segments.

use super::image::Segment;
use super::syntax::{Dialect, Section};
use crate::diag::Diagnostic;
use crate::span::Span;

/// A place in the image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) segment: usize,
    pub(super) offset: usize,
}

/// Segments under construction and the location counter of each section.
pub(super) struct Layout<'a> {
    dialect: Dialect<'a>,
    counters: Vec<Counter>,
    current: usize,
    segments: Vec<(Segment, Span)>,
    bytes: u64,
}

struct Counter {
    section: Section,
    address: u64,
    /// The segment that ends at `address`, if there is one.
    segment: Option<usize>,
}

/// Where text starts if a dialect has no sections.
const ONLY: Section = Section { name: ".text", base: 0, code: true };

impl<'a> Layout<'a> {
    pub(super) fn new(dialect: Dialect<'a>) -> Self {
        let sections = dialect.syntax.sections;
        let sections = if sections.is_empty() { &[ONLY] } else { sections };
        let counter = |s: &Section| Counter { section: *s, address: s.base, segment: None };
        let counters = sections.iter().map(counter).collect();
        Self { dialect, counters, current: 0, segments: Vec::new(), bytes: 0 }
    }

    /// The address of the next byte.
    pub(super) fn address(&self) -> u64 {
        self.counters[self.current].address
    }

    /// Goes on in a section; says whether there is one of that name.
    pub(super) fn enter(&mut self, name: &str) -> bool {
        let found = self.counters.iter().position(|c| c.section.name == name);
        self.current = found.unwrap_or(self.current);
        found.is_some()
    }

    /// Names of all sections.
    pub(super) fn section_names(&self) -> Vec<&'static str> {
        self.counters.iter().map(|c| c.section.name).collect()
    }

    /// Goes on at an address.
    pub(super) fn go_to(&mut self, address: u64) {
        let counter = &mut self.counters[self.current];
        if counter.address != address {
            (counter.address, counter.segment) = (address, None);
        }
    }

    /// Adds `length` bytes of zero and says where.
    pub(super) fn reserve(&mut self, length: u64, span: Span) -> Result<Spot, Box<Diagnostic>> {
        let limit = self.dialect.syntax.limits.image_bytes;
        let bytes = self.bytes.checked_add(length).filter(|&b| b <= limit);
        let Some(bytes) = bytes else {
            let message = format!("the image would have more than {limit} bytes");
            return Err(Diagnostic::error("asm::too-large", message)
                .at(span, format!("{length} bytes here"))
                .help("use `.org` to leave room without bytes")
                .into());
        };
        let counter = &mut self.counters[self.current];
        let end = counter.address.checked_add(length).ok_or_else(|| {
            Diagnostic::error("asm::address-space", "goes beyond the last 64-bit address")
                .at(span, format!("{length} bytes from {:#x} on", counter.address))
        })?;
        let segment = match counter.segment {
            Some(segment) => segment,
            None => {
                let section = counter.section.name.to_owned();
                let segment = Segment { section, address: counter.address, bytes: Vec::new() };
                self.segments.push((segment, span));
                self.segments.len() - 1
            }
        };
        let content = &mut self.segments[segment].0.bytes;
        let offset = content.len();
        // At most `limit` bytes, so this fits an allocation of the host.
        content.resize(offset + length as usize, 0);
        (counter.address, counter.segment, self.bytes) = (end, Some(segment), bytes);
        Ok(Spot { segment, offset })
    }

    /// Goes on at a multiple of `alignment`, a power of two; code is filled with the dialect's
    /// pattern.
    pub(super) fn align(&mut self, alignment: u64, span: Span) -> Result<(), Box<Diagnostic>> {
        let address = self.address();
        let gap = address.wrapping_neg() & (alignment - 1);
        if gap == 0 {
            return Ok(());
        }
        let Spot { segment, offset } = self.reserve(gap, span)?;
        let fill = self.dialect.syntax.code_fill;
        let hole = &mut self.segments[segment].0.bytes[offset..];
        if self.counters[self.current].section.code
            && !fill.is_empty()
            && hole.len().is_multiple_of(fill.len())
        {
            hole.iter_mut().zip(fill.iter().cycle()).for_each(|(byte, f)| *byte = *f);
        }
        Ok(())
    }

    /// The bytes from a spot on, for writing.
    pub(super) fn at(&mut self, spot: Spot) -> &mut [u8] {
        &mut self.segments[spot.segment].0.bytes[spot.offset..]
    }

    /// The segments by increasing address, those that touch in one section joined.
    pub(super) fn finish(mut self) -> Result<Vec<Segment>, Box<Diagnostic>> {
        self.segments.sort_by_key(|(segment, _)| segment.address);
        let mut out: Vec<(Segment, Span)> = Vec::new();
        for (segment, span) in self.segments {
            if segment.bytes.is_empty() {
                continue;
            }
            if let Some((last, last_span)) = out.last_mut() {
                // `reserve` has checked that no segment goes beyond the last address.
                let end = last.address + last.bytes.len() as u64;
                if end > segment.address {
                    let message = format!(
                        "two parts of the program lie at {:#x}: {} and {}",
                        segment.address, last.section, segment.section
                    );
                    return Err(Diagnostic::error("asm::overlap", message)
                        .at(span, "this part starts inside the other")
                        .also(*last_span, format!("which starts here and goes up to {end:#x}"))
                        .into());
                }
                if end == segment.address && last.section == segment.section {
                    last.bytes.extend(segment.bytes);
                    continue;
                }
            }
            out.push((segment, span));
        }
        Ok(out.into_iter().map(|(segment, _)| segment).collect())
    }
}
