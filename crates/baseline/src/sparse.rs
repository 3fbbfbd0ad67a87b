//! Elements that go where their values say.

/// How often each byte occurs.
#[inline(always)]
pub(super) fn histogram(data: &[u8]) -> [u32; 256] {
    // Tables of their own for neighbours: equal ones would wait for each other.
    let mut tables = [[0u32; 256]; 4];
    let mut chunks = data.chunks_exact(4);
    for chunk in &mut chunks {
        for (table, &byte) in tables.iter_mut().zip(chunk) {
            table[usize::from(byte)] += 1;
        }
    }
    for &byte in chunks.remainder() {
        tables[0][usize::from(byte)] += 1;
    }
    let mut sums = [0; 256];
    for table in tables {
        sums.iter_mut().zip(table).for_each(|(sum, n)| *sum += n);
    }
    sums
}

/// Sorts each segment of 1,024 keys, whose low halves are the values that belong to them, from one
/// place to another.
#[inline(always)]
pub(super) fn sort(keys: &[u64], sorted: &mut [u64]) {
    sorted.copy_from_slice(keys);
    sorted.chunks_mut(1024).for_each(<[u64]>::sort_unstable);
}

/// One level of a breadth-first search, each vertex with eight neighbours; how many vertices it
/// finds.
#[inline(always)]
pub(super) fn bfs(columns: &[u32], level: i32, distances: &mut [i32]) -> u32 {
    let mut found = 0;
    for (v, neighbours) in columns.chunks_exact(8).enumerate() {
        if distances[v] == level {
            for &neighbour in neighbours {
                let distance = &mut distances[neighbour as usize];
                if *distance == -1 {
                    *distance = level + 1;
                    found += 1;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_compute_reference_results() {
        let counts = histogram(&[7, 7, 9, 255, 7]);
        assert_eq!((counts[7], counts[9], counts[255], counts[0]), (3, 1, 1, 0));
        let keys: Vec<u64> = (0..2048).map(|i| i * 7919 % 2048).collect();
        let mut sorted = vec![0; 2048];
        sort(&keys, &mut sorted);
        assert!(sorted[..1024].is_sorted() && sorted[1024..].is_sorted());
        let mut distances = [0, -1, -1, 0];
        let columns = [[1; 8], [2; 8], [0; 8], [1; 8]].concat();
        assert_eq!((bfs(&columns, 0, &mut distances), distances), (1, [0, 1, -1, 0]));
        assert_eq!((bfs(&columns, 1, &mut distances), distances), (1, [0, 1, 2, 0]));
    }
}
