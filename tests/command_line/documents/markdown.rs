//! Markdown as far as the papers use it: fenced blocks, tables, code spans, links.
//!
//! Knows nothing of what they mean.

use std::path::Path;

/// A paper of this repository.
pub(super) struct Paper {
    /// Its path from the root of the repository.
    pub(super) path: String,
    /// All of it.
    pub(super) text: String,
}

/// A fenced block.
pub(super) struct Block {
    /// What stands behind the fence: the language, then what the block is.
    pub(super) info: String,
    /// What stands in it.
    pub(super) text: String,
    /// Where it begins, for people.
    pub(super) place: String,
}

/// The root of the repository.
pub(super) fn root() -> &'static Path {
    xtask::workspace::root()
}

/// Reads one paper.
pub(super) fn paper(path: &str) -> Paper {
    let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Paper { path: path.to_owned(), text }
}

/// Every paper that an outsider reads.
pub(super) fn papers() -> Vec<Paper> {
    let mut paths: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "wit/README.md"]
            .map(str::to_owned)
            .into();
    for folder in ["docs", "examples"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let path = if path.is_dir() { path.join("README.md") } else { path };
            if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| paper(path)).collect()
}

impl Paper {
    /// Its fenced blocks.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (line, number) in self.text.lines().zip(1..) {
            match (line.strip_prefix("```"), open.take()) {
                (Some(_), Some(block)) => blocks.push(block),
                (Some(info), None) => {
                    let place = format!("{}:{number}", self.path);
                    open = Some(Block { info: info.to_owned(), text: String::new(), place });
                }
                (None, Some(mut block)) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                    open = Some(block);
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.path);
        blocks
    }

    /// The only block that is introduced like this.
    pub(super) fn block(&self, info: &str) -> String {
        let mut blocks: Vec<Block> = self.blocks().into_iter().filter(|block| block.info == info).collect();
        assert_eq!(blocks.len(), 1, "{}: blocks \"{info}\"", self.path);
        blocks.remove(0).text
    }

    /// The text outside of blocks.
    pub(super) fn prose(&self) -> String {
        let mut fenced = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            fenced ^= line.starts_with("```");
            if !fenced && !line.starts_with("```") {
                prose.push_str(line);
                prose.push('\n');
            }
        }
        prose
    }

    /// The rows of all tables under these headings, cell by cell.
    pub(super) fn rows(&self, headings: &[&str]) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if !line.starts_with('|') || cells(line) != headings {
                continue;
            }
            rows.extend(lines.by_ref().skip(1).take_while(|line| line.starts_with('|')).map(cells));
        }
        assert!(!rows.is_empty(), "{}: there is no table {headings:?}", self.path);
        assert!(rows.iter().all(|row| row.len() == headings.len()), "{}: {rows:?}", self.path);
        rows
    }
}

fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// What stands in backticks.
pub(super) fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
