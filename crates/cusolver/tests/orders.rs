//! Orders and permutations of sparse matrices. Entries of factors are counted on dense patterns.
#![allow(unsafe_code, reason = "functions with C names, which take addresses as numbers")]

use cuda as _;
use cusolver as _;

unsafe extern "C" {
    safe fn cusolverSpCreate(out: usize) -> i32;
    safe fn cusolverSpDestroy(handle: u64) -> i32;
    safe fn cusolverSpXcsrsymrcmHost(
        h: u64,
        n: i32,
        nnz: i32,
        d: u64,
        first: u64,
        second: u64,
        out: usize,
    ) -> i32;
    safe fn cusolverSpXcsrsymmdqHost(
        h: u64,
        n: i32,
        nnz: i32,
        d: u64,
        first: u64,
        second: u64,
        out: usize,
    ) -> i32;
    safe fn cusolverSpXcsrsymamdHost(
        h: u64,
        n: i32,
        nnz: i32,
        d: u64,
        first: u64,
        second: u64,
        out: usize,
    ) -> i32;
    safe fn cusolverSpXcsrmetisndHost(
        h: u64,
        n: i32,
        nnz: i32,
        d: u64,
        first: u64,
        second: u64,
        options: u64,
        out: usize,
    ) -> i32;
    safe fn cusolverSpXcsrissymHost(
        h: u64,
        m: i32,
        nnz: i32,
        d: u64,
        first: u64,
        ends: u64,
        second: u64,
        out: usize,
    ) -> i32;
    safe fn cusolverSpXcsrpermHost(
        h: u64,
        m: i32,
        n: i32,
        nnz: i32,
        d: u64,
        first: u64,
        second: u64,
        p: u64,
        q: u64,
        map: usize,
        work: u64,
    ) -> i32;
}

const INVALID_VALUE: i32 = 3;

fn address<T>(list: &mut [T]) -> usize {
    list.as_mut_ptr().expose_provenance()
}

/// A pattern in CSR.
struct Pattern {
    first: Vec<i32>,
    second: Vec<i32>,
}

impl Pattern {
    fn of(rows: &[Vec<usize>]) -> Self {
        let mut pattern = Self { first: vec![0], second: Vec::new() };
        for row in rows {
            pattern.second.extend(row.iter().map(|&j| j as i32));
            pattern.first.push(pattern.second.len() as i32);
        }
        pattern
    }

    fn size(&self) -> (i32, i32) {
        (self.first.len() as i32 - 1, self.second.len() as i32)
    }

    fn addresses(&mut self) -> (u64, u64) {
        (address(&mut self.first) as u64, address(&mut self.second) as u64)
    }
}

/// The points of a square with their four neighbours, in an order without sense.
fn square(side: usize) -> Vec<Vec<usize>> {
    let n = side * side;
    let name = |x: usize, y: usize| (y * side + x) * 89 % n;
    let mut rows = vec![Vec::new(); n];
    for y in 0..side {
        for x in 0..side {
            let row = &mut rows[name(x, y)];
            row.push(name(x, y));
            let [left, above] = [x.checked_sub(1), y.checked_sub(1)];
            row.extend(left.map(|x| name(x, y)));
            row.extend(above.map(|y| name(x, y)));
            row.extend((x + 1 < side).then(|| name(x + 1, y)));
            row.extend((y + 1 < side).then(|| name(x, y + 1)));
        }
    }
    rows
}

/// Entries of a factor below the diagonal.
fn fill(rows: &[Vec<usize>], order: &[usize]) -> usize {
    let n = rows.len();
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(i, &v)| place[v] = i);
    let mut full = vec![vec![false; n]; n];
    for (v, row) in rows.iter().enumerate() {
        row.iter().for_each(|&w| full[place[v]][place[w]] = true);
    }
    let mut count = 0;
    for k in 0..n {
        let below: Vec<usize> = (k + 1..n).filter(|&i| full[i][k]).collect();
        count += below.len();
        for &i in &below {
            below.iter().for_each(|&j| full[i][j] = true);
        }
    }
    count
}

fn started() -> u64 {
    let test = std::env::current_exe().unwrap();
    assert!(culibs::driver::load(&test.parent().unwrap().join("libcuda.so")));
    let mut handle = [0_u64];
    assert_eq!(cusolverSpCreate(address(&mut handle)), 0);
    handle[0]
}

/// All methods by name, with what they write for a pattern.
fn orders(h: u64, rows: &[Vec<usize>]) -> [Vec<usize>; 4] {
    let mut pattern = Pattern::of(rows);
    let ((n, nnz), (first, second)) = (pattern.size(), pattern.addresses());
    let mut out = vec![-1_i32; rows.len()];
    let at = address(&mut out);
    [0, 1, 2, 3].map(|method| {
        out.fill(-1);
        let status = match method {
            0 => cusolverSpXcsrsymrcmHost(h, n, nnz, 1, first, second, at),
            1 => cusolverSpXcsrsymmdqHost(h, n, nnz, 1, first, second, at),
            2 => cusolverSpXcsrsymamdHost(h, n, nnz, 1, first, second, at),
            _ => cusolverSpXcsrmetisndHost(h, n, nnz, 1, first, second, 0, at),
        };
        assert_eq!(status, 0);
        let order: Vec<usize> = std::hint::black_box(&out).iter().map(|&v| v as usize).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..rows.len()));
        order
    })
}

#[test]
fn orders_are_permutations_with_less_fill() {
    let h = started();
    let rows = square(15);
    let by_rows: Vec<usize> = (0..225).map(|i| i * 89 % 225).collect();
    let band = fill(&rows, &by_rows);
    let [cuthill, degree, approximate, dissection] = orders(h, &rows).map(|o| fill(&rows, &o));
    assert!(cuthill <= band * 11 / 10, "{cuthill} of {band}");
    assert!(degree <= band * 3 / 4 && approximate <= band * 3 / 4, "{degree} of {band}");
    assert!(dissection <= band, "{dissection} of {band}");
    // A tree has an order without any fill.
    let mut tree = vec![Vec::new(); 127];
    for v in 1..127 {
        tree[v].push((v - 1) / 2);
        tree[(v - 1) / 2].push(v);
    }
    assert_eq!(fill(&tree, &orders(h, &tree)[1]), 126);
    // The band of a path is found.
    let path: Vec<usize> = (0..200).map(|i| i * 89 % 200).collect();
    let mut rows = vec![Vec::new(); 200];
    for pair in path.windows(2) {
        rows[pair[0]].push(pair[1]);
    }
    let mut place = vec![0_usize; 200];
    orders(h, &rows)[0].iter().enumerate().for_each(|(i, &v)| place[v] = i);
    assert!(path.windows(2).all(|pair| place[pair[0]].abs_diff(place[pair[1]]) == 1));
    // Parts that hang together with nothing.
    orders(h, &vec![Vec::new(); 5000]);
    assert_eq!(cusolverSpDestroy(h), 0);
}

#[test]
fn rows_and_columns_are_permuted_with_a_map() {
    let h = started();
    let rows = [vec![0, 3], vec![1], vec![0, 2, 3]];
    let value = |i: usize, j: usize| rows[i].iter().position(|&k| k == j).map(|k| 10 * i + k);
    let mut pattern = Pattern::of(&rows);
    let (_, nnz) = pattern.size();
    let (first, second) = pattern.addresses();
    let (mut p, mut q) = ([2_i32, 0, 1], [3_i32, 1, 0, 2]);
    let mut map = [0_i32, 1, 10, 20, 21, 22];
    let [p_at, q_at] = [address(&mut p) as u64, address(&mut q) as u64];
    let permute = |map: &mut [i32]| {
        cusolverSpXcsrpermHost(h, 3, 4, nnz, 1, first, second, p_at, q_at, address(map), 0)
    };
    assert_eq!(permute(&mut map), 0);
    let Pattern { first, second } = std::hint::black_box(&pattern);
    for i in 0..3 {
        let entries = first[i] as usize..first[i + 1] as usize;
        let row = &second[entries.clone()];
        assert!(row.is_sorted());
        for (j, &from) in q.iter().enumerate() {
            let now = row.iter().position(|&k| k == j as i32);
            let now = now.map(|k| std::hint::black_box(&map)[entries.start + k] as usize);
            assert_eq!(now, value(p[i] as usize, from as usize), "{i} {j}");
        }
    }
    // What is no permutation is refused.
    *std::hint::black_box(&mut p) = [2, 2, 1];
    assert_eq!(permute(&mut map), INVALID_VALUE);
    *std::hint::black_box(&mut p) = [2, 3, 1];
    assert_eq!(permute(&mut map), INVALID_VALUE);
    assert_eq!(cusolverSpDestroy(h), 0);
}

#[test]
fn symmetric_patterns_are_known() {
    let h = started();
    let is_symmetric = |rows: &[Vec<usize>]| {
        let mut pattern = Pattern::of(rows);
        let ((n, nnz), (first, second)) = (pattern.size(), pattern.addresses());
        let mut out = [7_i32];
        let at = address(&mut out);
        let status = cusolverSpXcsrissymHost(h, n, nnz, 1, first, first + 4, second, at);
        (status, std::hint::black_box(out)[0])
    };
    assert_eq!(is_symmetric(&square(4)), (0, 1));
    assert_eq!(is_symmetric(&[vec![2, 1], vec![0], vec![0, 2]]), (0, 1));
    assert_eq!(is_symmetric(&[vec![2, 1], vec![0], vec![2]]), (0, 0));
    assert_eq!(is_symmetric(&[vec![1]]), (0, 0));
    assert_eq!(cusolverSpDestroy(h), 0);
}
