//! Sweeps that are stopped, gone on with, parted and merged give the table of one that never was.

use std::io::Write as _;
use std::path::Path;

use sweep::{Shard, Store, StoreError, Suite, merge, run};

use crate::suites::{finish, kernels, load, manifest, scratch, table};

fn suite(folder: &Path) -> Suite {
    let text = format!(
        "schema = 1\nname = \"parts\"\n[[kernels]]\npaths = [\"{0}/divergence/nested\", \"{0}/divergence/switch_k\", \"{0}/divergence/spin_lock/*.toml\"]\n\
         [sweep]\nmechanisms = [\"serial\", \"ipdom\", \"min-pc\", \"exec-mask\"]\nwarp_sizes = [4, 32]\norders = [\"taken\", \"majority\"]\nlimit = 20000\n",
        kernels().display()
    );
    load(folder, &text).expect("is a suite")
}

#[test]
fn stopped_twice_and_merged_from_three_shards() {
    let folder = scratch("parts");
    let suite = suite(&folder);
    let whole = finish(&suite, &folder.join("whole"), Shard::WHOLE, 2);
    assert_eq!(whole.lines().count(), suite.rows() + 1);
    assert_eq!(finish(&suite, &folder.join("one"), Shard::WHOLE, 1), whole, "threads");
    let mut parts = Vec::new();
    for index in 1..=3 {
        let shard = Shard { index, count: 3 };
        let part = folder.join(format!("part{index}"));
        // Stopped after a few rows, then in the middle of a line, then to the end.
        let mut store = Store::open(&part, &manifest(&suite, shard), false).expect("opens");
        let stopped = run(&suite, shard, &mut store, 1, &mut |now| now.new < 3).expect("writes");
        assert!(!stopped);
        drop(store);
        let rows = part.join("rows.jsonl");
        let mut file = std::fs::OpenOptions::new().append(true).open(&rows).expect("opens");
        file.write_all(b"{\"key\":\"00ff\",\"sui").expect("writes");
        drop(file);
        let mut store = Store::open(&part, &manifest(&suite, shard), true).expect("opens");
        let before = store.len();
        assert!(before >= 3);
        let mut new = 0;
        assert!(
            run(&suite, shard, &mut store, 2, &mut |now| {
                new = now.new;
                true
            })
            .expect("writes")
        );
        assert_eq!(before + new, store.len(), "no row is run again");
        assert_eq!(store.len(), shard.rows(suite.rows()));
        drop(store);
        parts.push(part);
    }
    let all = folder.join("all");
    assert_eq!(merge(&parts, &all).expect("merges"), suite.rows());
    assert_eq!(table(&all), whole);
    // A finished sweep runs nothing.
    let mut store = Store::open(&all, &manifest(&suite, Shard::WHOLE), true).expect("opens");
    let mut new = 0;
    run(&suite, Shard::WHOLE, &mut store, 2, &mut |now| {
        new = now.new;
        true
    })
    .expect("writes");
    assert_eq!(new, 0);
}

#[test]
fn shards_have_to_make_a_whole() {
    let folder = scratch("not_whole");
    let suite = suite(&folder);
    let shard = |index| Shard { index, count: 2 };
    let (a, b) = (folder.join("a"), folder.join("b"));
    finish(&suite, &a, shard(1), 2);
    let said = |parts: &[std::path::PathBuf], out: &str| {
        merge(parts, &folder.join(out)).expect_err("is refused").to_string()
    };
    assert!(said(std::slice::from_ref(&a), "o1").contains("shard 2/2 missing"));
    assert!(said(&[a.clone(), a.clone()], "o2").contains("there twice"));
    let mut store = Store::open(&b, &manifest(&suite, shard(2)), false).expect("opens");
    run(&suite, shard(2), &mut store, 1, &mut |now| now.new < 1).expect("writes");
    drop(store);
    assert!(said(&[a.clone(), b.clone()], "o3").contains("is not finished"));
    finish(&suite, &b, shard(2), 2);
    // A row of one shard in the other.
    let stray = std::fs::read_to_string(a.join("rows.jsonl")).expect("reads");
    let line = stray.lines().next().expect("a row");
    let mut file =
        std::fs::OpenOptions::new().append(true).open(b.join("rows.jsonl")).expect("opens");
    writeln!(file, "{line}").expect("writes");
    drop(file);
    assert!(said(&[a, b], "o4").contains("in another shard, too"));
    assert!(matches!(
        merge(&[folder.join("none")], &folder.join("o5")),
        Err(StoreError::NotASweep(_))
    ));
}
