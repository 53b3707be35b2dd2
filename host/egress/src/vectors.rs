//! Reads the tables of vectors, and makes up texts for the tests that try any.
//!
//! It knows nothing of what the vectors are about.

/// The rows of a table: `a | b`, one a line, with `#` before remarks. `\u{…}` and `\t`, `\r`, `\n` stand for characters.
pub(crate) fn rows<const N: usize>(table: &str) -> Vec<[String; N]> {
    let lines = table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let cells = |line: &str| line.split(" | ").map(|cell| unescaped(cell.trim())).collect::<Vec<_>>();
    lines.map(|line| cells(line).try_into().unwrap_or_else(|_| panic!("not {N} cells: {line}"))).collect()
}

/// Asks for the verdict on each text of a table, and shows all that are not as the table says.
#[track_caller]
pub(crate) fn check(table: &str, verdict: impl Fn(&str) -> String) {
    let differ = |[text, expected]: [String; 2]| {
        let found = verdict(&text);
        (found != expected).then(|| format!("{text:?} is {found:?}, not {expected:?}"))
    };
    let wrong: Vec<String> = rows(table).into_iter().filter_map(differ).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn unescaped(cell: &str) -> String {
    let (mut text, mut rest) = (String::new(), cell);
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let (c, behind) = match after.as_bytes().first() {
            Some(b'u') => {
                let (code, behind) = after.strip_prefix("u{").unwrap().split_once('}').unwrap();
                (char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap(), behind)
            }
            Some(b't') => ('\t', &after[1..]),
            Some(b'r') => ('\r', &after[1..]),
            Some(b'n') => ('\n', &after[1..]),
            Some(b's') => (' ', &after[1..]),
            Some(b'\\') => ('\\', &after[1..]),
            other => panic!("not an escape in {cell}: {other:?}"),
        };
        text.push(c);
        rest = behind;
    }
    text + rest
}

/// Chance that is the same each time (xorshift).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A text of up to 40 characters, of these and now and then of any other.
    pub(crate) fn text(&mut self, of: &str) -> String {
        let of: Vec<char> = of.chars().collect();
        let length = self.next() % 41;
        let mut one = || match self.next() % 12 {
            0 => char::from_u32(self.next() as u32 % 0x0011_0000).unwrap_or('\u{ff10}'),
            _ => of[self.next() as usize % of.len()],
        };
        (0..length).map(|_| one()).collect()
    }
}

/// The smallest number of addresses and URLs that the tables hold together.
const VECTORS_MIN: usize = 300;

#[test]
fn there_are_as_many_vectors_as_promised() {
    let tables = [
        include_str!("../vectors/addresses.txt"),
        include_str!("../vectors/ranges.txt"),
        include_str!("../vectors/hosts.txt"),
        include_str!("../vectors/http.txt"),
        include_str!("../vectors/tcp.txt"),
        include_str!("../vectors/asked.txt"),
    ];
    let count: usize = tables.iter().map(|table| rows::<2>(table).len()).sum();
    assert!(count >= VECTORS_MIN, "{count} vectors");
}
