//! System calls of Linux (generic numbers) that a C library makes before, in and after `main`.

use super::PAGE;
use crate::state::State;

const ENOENT: i64 = 2;
const EBADF: i64 = 9;
const ENOMEM: i64 = 12;
const EFAULT: i64 = 14;
const EINVAL: i64 = 22;
const ENOTTY: i64 = 25;
const ENOSPC: i64 = 28;
const ESPIPE: i64 = 29;
const ENOSYS: i64 = 38;

/// Most elements of a vector of buffers.
const MOST_VECTOR: u64 = 1024;

impl State {
    /// The call whose number is in `a7`: arguments in `a0` to `a5`, result in `a0`.
    pub(super) fn system_call(&mut self) {
        let argument = |k: usize| self.gpr[2 + k];
        let (number, a0, a1, a2) = (argument(7), argument(0), argument(1), argument(2));
        let result = match number {
            // exit, exit_group
            93 | 94 => {
                self.exit(i64::from(a0 as i32));
                Ok(a0)
            }
            // read, write, writev
            63 => self.read(a0, a1, a2),
            64 => self.write(a0, &[(a1, a2)]),
            66 => self.buffers(a1, a2).and_then(|buffers| self.write(a0, &buffers)),
            // close, fsync
            57 | 82 => {
                if a0 <= 2 {
                    Ok(0)
                } else {
                    Err(EBADF)
                }
            }
            // lseek, ioctl, openat, readlinkat, newfstatat
            62 => Err(ESPIPE),
            29 => Err(if a0 <= 2 { ENOTTY } else { EBADF }),
            56 | 78 | 79 => Err(ENOENT),
            // brk
            214 => Ok(self.set_break(a0)),
            // mmap, munmap, mprotect, madvise
            222 => self.map(a1, argument(3), argument(4)),
            215 if self.unmap(a0) => Ok(0),
            215 => Err(EINVAL),
            226 | 233 => Ok(0),
            // clock_gettime, gettimeofday
            113 | 169 => self.time(number, if number == 113 { a1 } else { a0 }),
            // set_tid_address, set_robust_list, rt_sigaction, rt_sigprocmask, sched_yield
            96 => Ok(1),
            99 | 134 | 135 | 124 => Ok(0),
            // getpid, getppid, gettid, getuid, geteuid, getgid, getegid
            172 | 173 | 178 => Ok(1),
            174..=177 => Ok(0),
            // getrandom: the same in all runs
            278 => self.random(a0, a1),
            _ => Err(ENOSYS),
        };
        self.gpr[2] = match result {
            Ok(value) => value,
            Err(error) => (-error) as u64,
        };
    }

    fn buffers(&self, at: u64, count: u64) -> Result<Vec<(u64, u64)>, i64> {
        if count > MOST_VECTOR {
            return Err(EINVAL);
        }
        let one = |k: u64| {
            let at = at.wrapping_add(16 * k);
            Some((self.word(at)?, self.word(at.wrapping_add(8))?))
        };
        (0..count).map(one).collect::<Option<_>>().ok_or(EFAULT)
    }

    fn write(&mut self, file: u64, buffers: &[(u64, u64)]) -> Result<u64, i64> {
        if !matches!(file, 1 | 2) {
            return Err(EBADF);
        }
        let mut total = 0;
        for &(at, length) in buffers {
            let bytes = self.bytes(at, length).ok_or(EFAULT)?;
            self.host.console.print(&bytes);
            total += length;
        }
        if self.host.console.overflow { Err(ENOSPC) } else { Ok(total) }
    }

    fn read(&mut self, file: u64, at: u64, length: u64) -> Result<u64, i64> {
        if file != 0 {
            return Err(EBADF);
        }
        let start = self.host.console.read;
        let bytes = self.host.console.take_input(length);
        if self.write_guest(at, &bytes).is_none() {
            self.host.console.read = start;
            return Err(EFAULT);
        }
        Ok(bytes.len() as u64)
    }

    /// Anonymous memory alone: there are no files.
    fn map(&mut self, length: u64, flags: u64, file: u64) -> Result<u64, i64> {
        const ANONYMOUS: u64 = 0x20;
        if flags & ANONYMOUS == 0 || length == 0 {
            return Err(if file as i32 == -1 { EINVAL } else { EBADF });
        }
        self.map_anonymous(length).ok_or(ENOMEM)
    }

    fn time(&mut self, number: u64, at: u64) -> Result<u64, i64> {
        let time = self.nanoseconds();
        let part = time % 1_000_000_000;
        let part = if number == 113 { part } else { part / 1000 };
        let mut bytes = (time / 1_000_000_000).to_le_bytes().to_vec();
        bytes.extend(part.to_le_bytes());
        self.write_guest(at, &bytes).map(|()| 0).ok_or(EFAULT)
    }

    fn random(&mut self, at: u64, length: u64) -> Result<u64, i64> {
        let length = length.min(PAGE);
        let mut random = isa::testing::Rng::new(1);
        let bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        self.write_guest(at, &bytes).map(|()| length).ok_or(EFAULT)
    }
}
