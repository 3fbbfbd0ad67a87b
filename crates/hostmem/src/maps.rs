//! Which memory the process has, as its system lists it (proc(5), `/proc/[pid]/maps`).
//!
//! The list is only read: nothing at the addresses is touched. What guests have no business with is
//! left out: code, whatever cannot be read, the system's own pages (`[vdso]`, `[vvar]`), devices,
//! and the data of the library that this code is in.

use std::path::Path;

/// A run of memory that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Whether it can be written, too.
    pub writable: bool,
}

/// What the process had when it was asked, by address; no two meet that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents(Vec<Extent>);

impl Extents {
    /// What the process has now; `None` where the system does not tell.
    #[must_use]
    pub fn now() -> Option<Self> {
        let list = std::fs::read("/proc/self/maps").ok()?;
        let list = String::from_utf8_lossy(&list);
        let program = std::fs::read_link("/proc/self/exe").ok();
        let here = (&raw const OWN).addr() as u64;
        Some(Self::of(&list, here, program.as_deref()))
    }

    /// What the process has now that can be read and written, that no file backs, and that no other
    /// process sees: nothing but this process can change what is there. Empty where the system does
    /// not tell.
    #[must_use]
    pub fn private() -> Self {
        let list = std::fs::read("/proc/self/maps").unwrap_or_default();
        Self::private_of(&String::from_utf8_lossy(&list))
    }

    /// Returns whether one extent has all bytes of a range.
    #[must_use]
    pub fn has(&self, address: u64, len: u64) -> bool {
        self.around(address).is_some_and(|extent| len <= extent.end - address)
    }

    /// The extent that an address lies in.
    #[must_use]
    pub fn around(&self, address: u64) -> Option<Extent> {
        let next = self.0.partition_point(|e| e.start <= address);
        let extent = *self.0.get(next.checked_sub(1)?)?;
        (address < extent.end).then_some(extent)
    }

    /// The extents of a list. `here` is an address of this library's data, unless that is part of
    /// the program itself.
    fn of(list: &str, here: u64, program: Option<&Path>) -> Self {
        let lines: Vec<Line<'_>> = list.lines().filter_map(Line::of).collect();
        let own = lines.iter().find(|l| l.start <= here && here < l.end).map(|l| l.file);
        let own = own.filter(|&file| file.starts_with('/') && program != Some(Path::new(file)));
        let mut extents = Self::default();
        let mut own_end = 0;
        for line in &lines {
            // Data that begin with zero follow the file's pages, and have no name.
            if own == Some(line.file) || (line.file.is_empty() && line.start == own_end) {
                own_end = if own == Some(line.file) { line.end } else { 0 };
                continue;
            }
            if line.is_data() {
                extents.add(line);
            }
        }
        extents
    }

    /// The private extents of a list.
    fn private_of(list: &str) -> Self {
        let mut extents = Self::default();
        let lines = list.lines().filter_map(Line::of).filter(Line::is_anonymous);
        lines.for_each(|line| extents.add(&line));
        extents
    }

    /// Adds what a line lists, above all that is there.
    fn add(&mut self, &Line { start, end, writable, .. }: &Line<'_>) {
        match self.0.last_mut() {
            Some(last) if last.end == start && last.writable == writable => last.end = end,
            _ => self.0.push(Extent { start, end, writable }),
        }
    }
}

/// Something of this library's own; not zero, so that it is in the file.
static OWN: u64 = 0x5157_4c41_4221_0001;

/// A line of the list.
struct Line<'a> {
    start: u64,
    end: u64,
    readable: bool,
    writable: bool,
    executable: bool,
    /// Whether no other process sees what is written there.
    private: bool,
    file: &'a str,
}

impl<'a> Line<'a> {
    /// `start-end rwxp offset device inode   file`, the file with whatever blanks its name has.
    fn of(line: &'a str) -> Option<Self> {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let may = rest.as_bytes();
        let file = rest.splitn(5, ' ').nth(4).map_or("", str::trim_start);
        Some(Self {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            readable: *may.first()? == b'r',
            writable: *may.get(1)? == b'w',
            executable: *may.get(2)? == b'x',
            private: *may.get(3)? == b'p',
            file,
        })
    }

    fn is_anonymous(&self) -> bool {
        let has_no_file =
            self.file.is_empty() || self.file == "[heap]" || self.file.starts_with("[anon");
        self.writable && self.private && has_no_file && self.is_data()
    }

    fn is_data(&self) -> bool {
        let system = self.file.starts_with('[')
            && !["[heap]", "[stack"].iter().any(|name| self.file.starts_with(name))
            && !self.file.starts_with("[anon");
        let device = self.file.starts_with("/dev/")
            && !["/dev/shm/", "/dev/zero"].iter().any(|name| self.file.starts_with(name));
        self.readable && !self.executable && !system && !device && self.start < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
1000-2000 r--p 00000000 fe:00 11                 /usr/bin/client
2000-3000 r-xp 00001000 fe:00 11                 /usr/bin/client
3000-4000 rw-p 00002000 fe:00 11                 /usr/bin/client
4000-5000 rw-p 00000000 00:00 0 \n5000-9000 rw-p 00000000 00:00 0                  [heap]
a000-b000 ---p 00000000 00:00 0 \nb000-c000 rw-p 00000000 00:00 0 \nc000-d000 rw-s 00000000 00:05 9                  /dev/some device
d000-e000 rw-s 00000000 00:05 9                  /dev/shm/shared
10000-11000 r-xp 00000000 fe:00 12               /lib/libown.so
11000-12000 rw-p 00001000 fe:00 12               /lib/libown.so
12000-13000 rw-p 00000000 00:00 0 \n13000-14000 rw-p 00000000 00:00 0                [anon:mine]
14000-15000 r--p 00000000 00:00 0                [vvar]
15000-16000 r-xp 00000000 00:00 0                [vdso]
16000-17000 rwxp 00000000 00:00 0 \nnonsense
17000-18000 rw-p 00000000 00:00 0                [stack]
";

    #[test]
    fn private_memory_has_no_file() {
        let memory = Extents::private_of(LIST);
        for (address, len, has) in [
            (0x4000, 0x5000, true),
            (0x4fff, 2, true),
            (0x4000, 0x5001, false),
            // Files, shared or not.
            (0x3000, 8, false),
            (0x3ff8, 16, false),
            (0xd000, 8, false),
            (0xa000, 8, false),
            (0x13000, 0x1000, true),
            (0x17000, 8, false),
            (0, 1, false),
            (u64::MAX, 1, false),
        ] {
            assert_eq!(memory.has(address, len), has, "{address:#x}, {len}");
        }
        let vector = vec![0_u8; 1 << 20];
        assert!(Extents::private().has(vector.as_ptr() as u64, 1 << 20));
    }

    #[test]
    fn what_is_listed_is_what_guests_may_see() {
        let extents = Extents::of(LIST, 0x11800, Some(Path::new("/usr/bin/client")));
        let data = |start, end, writable| Extent { start, end, writable };
        let expected = [
            data(0x1000, 0x2000, false),
            // The program's own variables with what follows them.
            data(0x3000, 0x9000, true),
            data(0xb000, 0xc000, true),
            data(0xd000, 0xe000, true),
            data(0x13000, 0x14000, true),
            data(0x17000, 0x18000, true),
        ];
        assert_eq!(extents.0, expected);
        assert_eq!(extents.around(0x3fff), Some(expected[1]));
        assert_eq!((extents.around(0x9000), extents.around(0)), (None, None));
        // As part of the program, the library has nothing that is its own.
        let inside = Extents::of(LIST, 0x3800, Some(Path::new("/usr/bin/client")));
        assert_eq!(inside.around(0x3000).map(|e| (e.start, e.end)), Some((0x3000, 0x9000)));
        assert!(inside.around(0x11000).is_some());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_data_and_code() {
        let extents = Extents::now().unwrap();
        let heap = vec![1_u8; 1 << 20];
        let local = 5_u8;
        let writable = |at: u64| extents.around(at).is_some_and(|e| e.writable);
        let now = Extents::now().unwrap();
        let found = now.around(heap.as_ptr() as u64).unwrap();
        assert!(found.writable && found.end >= heap.as_ptr() as u64 + (1 << 20));
        assert!(writable((&raw const local) as u64));
        let code: fn() = this_process_has_data_and_code;
        assert_eq!(extents.around(code as usize as u64), None);
    }
}
