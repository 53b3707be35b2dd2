//! How deeply the types of a component's interfaces nest, measured without recursion.
//!
//! The reader of wasmparser calls itself for a type within a type and knows no bound, so a file of a few kilobytes would end the
//! process. Nothing may read types before they were measured here.

use wasmparser::{
    BinaryReader, ComponentAlias, ComponentExternName, ComponentImport, ComponentType, ComponentTypeRef, CoreType,
    Result,
};

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nested {
    /// The deepest level; 1 is a type that stands in no other.
    pub(super) levels: u64,
    /// Types that stand in others.
    pub(super) inner: u64,
}

/// A type that holds others, and how many declarations of it are still to come.
struct Open {
    is_component: bool,
    left: u32,
}

/// Measures the types of one section, and no further than one level beyond `levels_max`. What cannot be read ends it.
pub(super) fn measure(mut section: BinaryReader<'_>, levels_max: u64) -> Nested {
    let mut nested = Nested::default();
    // What is wrong with it is for the validator to say.
    let _ = walk(&mut section, levels_max, &mut nested);
    nested
}

fn walk(reader: &mut BinaryReader<'_>, levels_max: u64, nested: &mut Nested) -> Result<()> {
    let mut open: Vec<Open> = Vec::new();
    let mut types = reader.read_var_u32()?;
    loop {
        let level = open.len() as u64 + 1;
        match open.last_mut() {
            None if types == 0 => return Ok(()),
            None => types -= 1,
            Some(Open { left: 0, .. }) => {
                open.pop();
                continue;
            }
            Some(Open { is_component, left }) => {
                *left -= 1;
                if !declares_type(reader, *is_component)? {
                    continue;
                }
                nested.inner += 1;
            }
        }
        nested.levels = nested.levels.max(level);
        if level > levels_max {
            return Ok(());
        }
        open.extend(begin(reader)?);
    }
}

const COMPONENT: u8 = 0x41;
const INSTANCE: u8 = 0x42;

/// Reads a type; of one that holds others, its head only.
fn begin(reader: &mut BinaryReader<'_>) -> Result<Option<Open>> {
    let mut ahead = reader.clone();
    let kind = ahead.read_u8()?;
    if !matches!(kind, COMPONENT | INSTANCE) {
        reader.read::<ComponentType<'_>>()?;
        return Ok(None);
    }
    let left = ahead.read_var_u32()?;
    *reader = ahead;
    Ok(Some(Open { is_component: kind == COMPONENT, left }))
}

/// Reads a declaration. True: a type follows.
fn declares_type(reader: &mut BinaryReader<'_>, in_component: bool) -> Result<bool> {
    match reader.read_u8()? {
        0x00 => {
            reader.read::<CoreType<'_>>()?;
        }
        0x01 => return Ok(true),
        0x02 => {
            reader.read::<ComponentAlias<'_>>()?;
        }
        0x03 if in_component => {
            reader.read::<ComponentImport<'_>>()?;
        }
        0x04 => {
            reader.read::<ComponentExternName<'_>>()?;
            reader.read::<ComponentTypeRef>()?;
        }
        // Nothing that there is: reading ends here, as the validator's does.
        _ => {
            let rest = reader.bytes_remaining();
            reader.read_bytes(rest)?;
        }
    }
    Ok(false)
}
