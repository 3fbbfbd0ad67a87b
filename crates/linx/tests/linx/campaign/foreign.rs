//! Random programs against another program's model of the scalar instructions.
//!
//! `SIMTLAB_LINX_MODEL` names a command. It reads a line a program: the machine code, which starts
//! at address 0x10000, and the bytes of memory from 0x2000000 on, both in hexadecimal digits. `a0`
//! holds that address; the other registers are 0; the program ends at `ebreak`. The command writes
//! a line for each: the bytes of memory afterwards, or what went wrong. The code has the
//! conventions of upstream's compiler, and no division by zero, of which upstream's models think
//! otherwise.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use isa::testing::Rng;
use linx::Conventions;

use super::programs::{self, Set};
use super::{BYTES, count, memory, run, same};

fn digits(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|b| write!(out, "{b:02x}").unwrap());
    out
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

#[test]
#[ignore = "needs another model, named by SIMTLAB_LINX_MODEL"]
fn scalar_programs_agree_with_the_model_of_a_command() {
    let command = std::env::var("SIMTLAB_LINX_MODEL").expect("SIMTLAB_LINX_MODEL names a command");
    let mut child =
        Command::new(command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(output).lines();
    for seed in 0..count(1000) {
        let mut random = Rng::new(seed);
        let text = programs::scalar(&mut random, Set::Upstream);
        let before = memory(&mut random, BYTES);
        let (code, ours) = run(&text, Conventions::Compiler, &before);
        writeln!(input, "{} {}", digits(&code), digits(&before)).unwrap();
        input.flush().unwrap();
        let answer = answers.next().expect("an answer for each program").unwrap();
        let theirs = bytes(&answer).unwrap_or_else(|| panic!("seed {seed}: {answer}\n{text}"));
        same(seed, &text, &ours, &theirs);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
