//! Orders and permutations of sparse matrices, whose patterns are on the host.

use culibs::device::{get_host_list, put_host, put_host_list};
use culibs::{Error, Outcome, Ptr, count};

use crate::handle::get_sparse;
use crate::ordering::{self, Graph};
use crate::sparse::Given;

/// How an order is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    CuthillMcKee,
    MinimumDegree,
    Dissection,
}

/// Reads the rows of a matrix: of each the columns of its entries, from the places of the first
/// entries and those after the last ones.
fn rows(given: &Given, ends: u64) -> Outcome<Vec<Vec<usize>>> {
    let [n, nnz] = given.checked()?;
    let base = given.base();
    let index = |&i: &i32| {
        let counted = usize::try_from(i64::from(i) - i64::from(base));
        counted.map_err(|_| Error::InvalidValue)
    };
    let list = |at: u64, len: usize| -> Outcome<Vec<usize>> {
        get_host_list::<i32>(at as Ptr, len)?.iter().map(index).collect()
    };
    let (firsts, ends) = (list(given.first, n)?, list(ends, n)?);
    let columns = list(given.second, nnz)?;
    let row = |(first, end): (&usize, &usize)| {
        columns.get(*first..*end).map(<[usize]>::to_vec).ok_or(Error::InvalidValue)
    };
    firsts.iter().zip(&ends).map(row).collect()
}

/// Tells whether for each entry there is the one on the other side of the diagonal.
pub(crate) fn is_symmetric(handle: u64, given: Given, ends: u64, out: Ptr) -> Outcome {
    get_sparse(handle)?;
    let mut rows = rows(&given, ends)?;
    rows.iter_mut().for_each(|row| row.sort_unstable());
    let has = |i: usize, j: usize| rows.get(i).is_some_and(|row| row.binary_search(&j).is_ok());
    let all = rows.iter().enumerate().all(|(i, row)| row.iter().all(|&j| has(j, i)));
    put_host(out, i32::from(all))
}

/// Writes an order of the rows, counted from zero.
pub(crate) fn order(handle: u64, given: Given, method: Method, out: Ptr) -> Outcome {
    get_sparse(handle)?;
    let rows = rows(&given, given.first + 4)?;
    let n = rows.len();
    if rows.iter().flatten().any(|&j| j >= n) {
        return Err(Error::InvalidValue);
    }
    let entries = rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&j| (i, j)));
    let graph: Graph = ordering::graph(n, entries);
    let order = match method {
        Method::CuthillMcKee => ordering::reverse_cuthill_mckee(&graph),
        Method::MinimumDegree => ordering::minimum_degree(&graph),
        Method::Dissection => ordering::nested_dissection(&graph),
    };
    let order: Vec<i32> = order.into_iter().map(|v| v as i32).collect();
    if order.is_empty() { Ok(()) } else { put_host_list(out, &order) }
}

/// Reads a permutation, and returns the place of each number in it.
fn places(at: u64, len: usize) -> Outcome<Vec<usize>> {
    let mut places = vec![usize::MAX; len];
    for (i, v) in get_host_list::<i32>(at as Ptr, len)?.into_iter().enumerate() {
        let place = usize::try_from(v).ok().and_then(|v| places.get_mut(v));
        match place {
            Some(place) if *place == usize::MAX => *place = i,
            _ => return Err(Error::InvalidValue),
        }
    }
    Ok(places)
}

pub(crate) fn buffer_size(handle: u64, given: Given, columns: i32, out: Ptr) -> Outcome {
    get_sparse(handle)?;
    given.checked()?;
    count(columns.into())?;
    put_host(out, 16_usize)
}

/// Permutes rows and columns: row `i` and column `j` become those that `p[i]` and `q[j]` name.
/// `map` goes along with the entries.
pub(crate) fn permute(
    handle: u64,
    given: Given,
    columns: i32,
    [p, q]: [u64; 2],
    map: Ptr,
) -> Outcome {
    get_sparse(handle)?;
    let [n, nnz] = given.checked()?;
    let rows = rows(&given, given.first + 4)?;
    let from = get_host_list::<i32>(p as Ptr, n)?;
    places(p, n)?;
    let columns = places(q, count(columns.into())?)?;
    let before = get_host_list::<i32>(map, nnz)?;
    let starts: Vec<usize> =
        rows.iter().scan(0, |at, row| Some(std::mem::replace(at, *at + row.len()))).collect();
    let base = given.base();
    let (mut first, mut second, mut after) = (vec![base], Vec::new(), Vec::new());
    for row in from {
        let (start, row) = (starts[row as usize], &rows[row as usize]);
        let moved = row.iter().enumerate().map(|(k, &j)| {
            let j = columns.get(j).ok_or(Error::InvalidValue)?;
            let old = before.get(start + k).ok_or(Error::InvalidValue)?;
            Ok((*j, *old))
        });
        let mut moved = moved.collect::<Outcome<Vec<_>>>()?;
        moved.sort_unstable();
        second.extend(moved.iter().map(|(j, _)| *j as i32 + base));
        after.extend(moved.iter().map(|(_, old)| *old));
        first.push(second.len() as i32 + base);
    }
    put_host_list(given.first as Ptr, &first)?;
    if second.is_empty() {
        return Ok(());
    }
    put_host_list(given.second as Ptr, &second)?;
    put_host_list(map, &after)
}
