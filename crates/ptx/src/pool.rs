//! Typed arenas: nodes of one kind in one `Vec`, referred to by 32-bit indices.
//!
//! Always holds: an [`Id`] or [`Run`] is only made by [`Pool::push`] and [`Pool::push_all`] of the
//! pool it is used with, so it is in range there. A pool
//! shrinks only by `Pool::truncate`.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// Index of one node in a [`Pool`].
pub struct Id<T> {
    /// Index plus one, so that `Option<Id<T>>` takes four bytes.
    raw: NonZeroU32,
    kind: PhantomData<fn() -> T>,
}

/// A contiguous run of nodes in a [`Pool`].
pub struct Run<T> {
    start: u32,
    len: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    fn new(index: usize) -> Self {
        // A source text is shorter than 4 GiB and every node takes at least one byte of it, so the
        // saturation below never happens; it keeps the conversion total.
        let raw = u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX);
        Self { raw: NonZeroU32::new(raw).unwrap_or(NonZeroU32::MAX), kind: PhantomData }
    }

    /// The index, counted from 0 in order of creation.
    #[must_use]
    pub fn index(self) -> usize {
        self.raw.get() as usize - 1
    }
}

impl<T> Run<T> {
    /// A run of nothing.
    #[must_use]
    pub const fn empty() -> Self {
        Self { start: 0, len: 0, kind: PhantomData }
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The ids of the nodes, in order.
    pub fn ids(self) -> impl Iterator<Item = Id<T>> {
        (self.start..self.start + self.len).map(|i| Id::new(i as usize))
    }

    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl<T> Default for Run<T> {
    fn default() -> Self {
        Self::empty()
    }
}

/// All nodes of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool<T> {
    nodes: Vec<T>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Adds a node.
    pub fn push(&mut self, node: T) -> Id<T> {
        let id = Id::new(self.nodes.len());
        self.nodes.push(node);
        id
    }

    /// Adds several nodes, contiguously.
    pub fn push_all(&mut self, nodes: impl IntoIterator<Item = T>) -> Run<T> {
        let start = self.nodes.len();
        self.nodes.extend(nodes);
        self.run_from(start)
    }

    /// The run of everything added since the pool had `start` nodes.
    #[must_use]
    pub fn run_from(&self, start: usize) -> Run<T> {
        let len = self.nodes.len().saturating_sub(start);
        if len == 0 {
            return Run::empty();
        }
        Run { start: start as u32, len: len as u32, kind: PhantomData }
    }

    /// Drops all nodes but the first ones. Nothing that is kept may refer to the others.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.nodes.truncate(length);
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes in order of creation.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.nodes.iter()
    }

    /// All nodes in order of creation, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.nodes.iter_mut()
    }
}

impl<'a, T> IntoIterator for &'a Pool<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Index<Id<T>> for Pool<T> {
    type Output = T;
    fn index(&self, id: Id<T>) -> &T {
        &self.nodes[id.index()]
    }
}

impl<T> IndexMut<Id<T>> for Pool<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.nodes[id.index()]
    }
}

impl<T> Index<Run<T>> for Pool<T> {
    type Output = [T];
    fn index(&self, run: Run<T>) -> &[T] {
        &self.nodes[run.range()]
    }
}

// Written out because a derive would ask the same of `T`.
impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}
impl<T> Eq for Id<T> {}
impl<T> std::hash::Hash for Id<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.raw.cmp(&other.raw)
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index())
    }
}
impl<T> Clone for Run<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Run<T> {}
impl<T> PartialEq for Run<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.len) == (other.start, other.len)
    }
}
impl<T> Eq for Run<T> {}
impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}..{}", self.start, self.start + self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_was_pushed() {
        let mut pool = Pool::default();
        let a = pool.push(7);
        let run = pool.push_all([1, 2, 3]);
        assert_eq!((pool[a], &pool[run]), (7, &[1, 2, 3][..]));
        assert_eq!(run.ids().map(|i| pool[i]).sum::<i32>(), 6);
        assert!(pool[pool.run_from(4)].is_empty());
        assert_eq!(size_of::<Option<Id<u8>>>(), 4);
    }
}
