//! What a file is and wants, read without compiling or running it.
//!
//! Loading goes through here first, so that a wrong file costs a parse and not a compile.

use std::collections::BTreeSet;

use wasmparser::{Parser, Payload, ProducersSectionReader, Validator};

use crate::bindings::{Form, HANDLER, RAW_HANDLER};
use crate::engine::FEATURES;
use crate::error::{ReachError, Refusal};
use crate::file::Kind;
use crate::grants::{Closed, Grants, Reach};
use crate::limits::Limits;
use crate::needs::MANIFEST;
use crate::plugin::Digest;
use crate::provided::{Prerequisite, Provision, provision};
use crate::shape;

/// What a file is, what it wants, and what this host would refuse.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What the file is.
    pub kind: Kind,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its digest.
    pub digest: Digest,
    /// The names of a component's exports, in order.
    pub exports: Vec<String>,
    /// A component's imports, in order.
    pub imports: Vec<Import>,
    /// What languages and tools say they made it.
    pub producers: Vec<Producer>,
    /// Why this host would not load it. Empty: it looks like a plugin; only a trial start can say more.
    pub refusals: Vec<Refusal>,
}

impl Inspection {
    /// The language that it was written in, if a toolchain wrote that down. A C library signs nearly every component, so C counts
    /// only when nobody else signs.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        let mut languages = self.producers.iter().filter(|producer| producer.field == "language");
        let first = languages.clone().next();
        let first_other = languages.find(|language| !language.name.starts_with('C'));
        first_other.or(first).map(|language| language.name.as_str())
    }
}

impl Inspection {
    /// The form in which it takes its batches, if it takes any.
    pub(crate) fn form(&self) -> Form {
        let is_raw = |export: &String| same_interface(export, RAW_HANDLER);
        if self.exports.iter().any(is_raw) { Form::Packed } else { Form::Records }
    }

    /// Why a plugin that imports this is not loaded with these grants, `deterministic` or not.
    #[must_use]
    pub fn refused_with(&self, grants: &Grants, deterministic: bool) -> Option<Refusal> {
        self.imports.iter().find_map(|import| match provision(&import.name) {
            Provision::Offered(capability, Some(prerequisite)) if !grants.meet(prerequisite) => {
                let import = import.name.clone();
                Some(if deterministic {
                    Refusal::Deterministic { import }
                } else {
                    Refusal::NotGranted { import, capability, line: prerequisite.line() }
                })
            }
            Provision::Offered(..) | Provision::Missing(_) => None,
        })
    }

    /// Why these grants cannot be given to it. One that says itself what it needs gets no more than that, which shows when it is
    /// loaded.
    #[must_use]
    pub fn unreachable_with(&self, grants: &Grants) -> Option<ReachError> {
        if self.exports.iter().any(|export| same_interface(export, MANIFEST)) {
            return None;
        }
        Reach::open(grants.clone(), &self.digest.short().into(), Closed::NotGranted).err()
    }
}

/// One import of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name, with version.
    pub name: String,
    /// What it lets a guest do. `None`: this host does not offer it.
    pub capability: Option<&'static str>,
    /// A line of the configuration without which a plugin that imports it is not loaded. `None`: it needs none.
    pub needs: Option<&'static str>,
}

/// One entry of the metadata in which toolchains sign their work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Producer {
    /// `language`, `processed-by` or `sdk`.
    pub field: String,
    /// The language or tool.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
}

/// Says what a file is and wants.
#[must_use]
pub fn inspect(bytes: &[u8], limits: &Limits) -> Inspection {
    let (mut inspection, read) = look(bytes, limits);
    if read {
        match Validator::new_with_features(FEATURES).validate_all(bytes) {
            Ok(_) => judge(&mut inspection),
            Err(error) => inspection.refusals.push(Refusal::Invalid { detail: error.to_string() }),
        }
    }
    inspection
}

/// The same without a look at the code inside, which whoever compiles it validates.
pub(crate) fn examine(bytes: &[u8], limits: &Limits) -> Inspection {
    let (mut inspection, read) = look(bytes, limits);
    if read {
        judge(&mut inspection);
    }
    inspection
}

/// Reads what a file is and wants. True: it is a component that can be read to its end, and nothing was refused.
fn look(bytes: &[u8], limits: &Limits) -> (Inspection, bool) {
    let mut inspection = Inspection {
        kind: Kind::of(bytes),
        bytes: bytes.len() as u64,
        digest: Digest::of(bytes),
        exports: Vec::new(),
        imports: Vec::new(),
        producers: Vec::new(),
        refusals: Vec::new(),
    };
    let refusal = if inspection.bytes > limits.file_bytes {
        Some(Refusal::TooLarge { bytes: inspection.bytes, limit: limits.file_bytes })
    } else if !matches!(inspection.kind, Kind::Component | Kind::CoreModule) {
        Some(Refusal::NotAComponent { kind: inspection.kind })
    } else {
        let shape = shape::judge(bytes);
        // Reading stops at the first byte that makes no sense; what was read until then is still worth showing.
        let read = read(bytes, &mut inspection);
        match (inspection.kind, read) {
            (Kind::CoreModule, _) => Some(Refusal::NotAComponent { kind: inspection.kind }),
            (_, Err(error)) => Some(Refusal::Invalid { detail: error.to_string() }),
            (_, Ok(())) => shape.err(),
        }
    };
    let whole = refusal.is_none();
    inspection.refusals.extend(refusal);
    (inspection, whole)
}

/// Reads imports and exports of the outermost component, and the producers of all that lies in it.
fn read(bytes: &[u8], inspection: &mut Inspection) -> wasmparser::Result<()> {
    let mut depth = 0_usize;
    let mut producers = BTreeSet::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    let name = import?.name.name.to_owned();
                    let (capability, needs) = match provision(&name) {
                        Provision::Offered(capability, prerequisite) => {
                            (Some(capability), prerequisite.map(Prerequisite::line))
                        }
                        Provision::Missing(_) => (None, None),
                    };
                    inspection.imports.push(Import { name, capability, needs });
                }
            }
            Payload::ComponentExportSection(exports) if depth == 0 => {
                for export in exports {
                    inspection.exports.push(export?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if section.name() == "producers" => {
                let reader = wasmparser::BinaryReader::new(section.data(), section.data_offset());
                // What a toolchain wrote about itself must not keep a plugin from loading.
                producers.extend(read_producers(reader).unwrap_or_default());
            }
            _ => {}
        }
    }
    inspection.producers = producers.into_iter().collect();
    Ok(())
}

fn read_producers(reader: wasmparser::BinaryReader<'_>) -> wasmparser::Result<Vec<Producer>> {
    let mut producers = Vec::new();
    for field in ProducersSectionReader::new(reader)? {
        let field = field?;
        for value in field.values {
            let value = value?;
            producers.push(Producer {
                field: field.name.to_owned(),
                name: value.name.to_owned(),
                version: value.version.to_owned(),
            });
        }
    }
    Ok(producers)
}

/// Compares a valid component's imports and exports with what the host offers and wants.
fn judge(inspection: &mut Inspection) {
    let exports = |wanted: &str| inspection.exports.iter().any(|export| same_interface(export, wanted));
    match (exports(HANDLER), exports(RAW_HANDLER)) {
        (true, false) | (false, true) => {}
        (true, true) => inspection.refusals.push(Refusal::BothHandlers(HANDLER, RAW_HANDLER)),
        (false, false) => {
            let found = inspection.exports.clone();
            inspection.refusals.push(Refusal::NoHandler { wanted: HANDLER, found });
        }
    }
    for import in &inspection.imports {
        if let Provision::Missing(way_out) = provision(&import.name) {
            inspection.refusals.push(Refusal::ImportNotAvailable { import: import.name.clone(), way_out });
        }
    }
}

/// True when two names are the same interface in versions that fit each other: 0.1.0 and 0.1.7 do.
fn same_interface(name: &str, wanted: &str) -> bool {
    let track = |name: &str| {
        let (path, version) = name.split_once('@')?;
        let mut numbers = version.split('.');
        Some((path.to_owned(), numbers.next()?.to_owned(), numbers.next()?.to_owned()))
    };
    track(name).is_some_and(|found| Some(found) == track(wanted))
}
