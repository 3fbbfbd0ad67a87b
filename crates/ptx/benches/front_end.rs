//! Speed of the PTX front end in bytes of text: lexing, parsing, printing, lowering of the bundled
//! kernels as a whole and part by part.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ir::device::Limits;
use isa::FileId;
use std::hint::black_box;

/// The bundled kernels behind each other as separate files, in order of their names.
fn files() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| path.file_name().map(|name| path.join(name).with_extension("ptx")))
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .collect()
}

fn front_end(c: &mut Criterion) {
    let files = files();
    let bytes: usize = files.iter().map(String::len).sum();
    let trees: Vec<_> = files.iter().map(|text| ptx::parse(FileId(0), text).0).collect();
    let mut group = c.benchmark_group("ptx");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("lex", |b| {
        b.iter(|| {
            for text in &files {
                let mut lexer = ptx::lexer::Lexer::new(FileId(0), text);
                while lexer.next_token().kind != ptx::lexer::TokenKind::End {}
            }
        });
    });
    group.bench_function("parse", |b| {
        b.iter(|| {
            files.iter().map(|text| ptx::parse(FileId(0), text).0.statements.len()).sum::<usize>()
        });
    });
    group.bench_function("print", |b| {
        b.iter(|| trees.iter().map(|tree| tree.to_string().len()).sum::<usize>());
    });
    group.bench_function("lower", |b| {
        b.iter(|| {
            for tree in &trees {
                black_box(ptx::lower(tree, ptx::Select::All));
            }
        });
    });
    group.bench_function("parts", |b| {
        b.iter(|| {
            for text in &files {
                let take = |_: &mut (), part| {
                    black_box(part);
                    Some(())
                };
                black_box(ptx::lower_parts(FileId(0), text, Limits::OfTarget, 1, take));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, front_end);
criterion_main!(benches);
