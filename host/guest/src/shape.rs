//! How large a component is in every direction in which a compiler's work grows, read without validating it.
//!
//! A small file can mean much work: a thousand bytes can nest so deeply that whoever reads them runs out of stack. What no supported
//! toolchain comes near is refused here, at the cost of reading headers. What is within the bounds may still be a bomb; time and
//! memory of the worker are bounded for those. Says nothing about what is valid.

mod nesting;

use wasmparser::{BinaryReader, FunctionBody, Parser, Payload};

use crate::error::Refusal;

/// One direction in which a component can be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Levels,
    TypeLevels,
    Modules,
    Instances,
    Aliases,
    ComponentTypes,
    Ports,
    Adapted,
    CoreTypes,
    CorePorts,
    Functions,
    FunctionBytes,
    FunctionLocals,
    Locals,
    Variables,
    Segments,
    CustomSections,
}

/// The bounds: what is counted, and how much of it there may be. Measured in components for this project's contract, made of Rust,
/// CPython (componentize-py), StarlingMonkey and QuickJS (jco); each bound is more than four times the largest of them, which stands
/// beside it.
pub const SHAPE_BOUNDS: [(&str, u64); 17] = [
    ("levels of components and modules within each other", 16), // 2
    ("levels of types within each other", 16),                  // 2
    ("modules and components", 200),                            // 16
    ("instances", 1_000),                                       // 67
    ("aliases", 10_000),                                        // 1,351
    ("types of interfaces", 10_000),                            // 373
    ("imports and exports of components", 5_000),               // 82
    ("functions between components and modules", 5_000),        // 124
    ("types of functions", 20_000),                             // 1,101
    ("imports and exports of modules", 50_000),                 // 6,440
    ("functions", 200_000),                                     // 13,353
    ("bytes in one function", 2 << 20),                         // 426,843
    ("local variables in one function", 10_000),                // 271
    ("local variables", 2_000_000),                             // 51,895
    ("globals, memories and tables", 10_000),                   // 877
    ("segments of data and tables", 100_000),                   // 10,002
    ("custom sections", 1_000),                                 // 24
];

/// Holds a component's shape against the bounds.
///
/// # Errors
///
/// It is larger than any toolchain makes it. What cannot be read is no error here: reading it for its contents finds the same.
pub(crate) fn judge(bytes: &[u8]) -> Result<(), Refusal> {
    let mut tally = Tally::default();
    for payload in Parser::new(0).parse_all(bytes).map_while(Result::ok) {
        tally.take(bytes, &payload)?;
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Tally {
    counts: [u64; SHAPE_BOUNDS.len()],
    levels: u64,
}

impl Tally {
    fn take(&mut self, bytes: &[u8], payload: &Payload<'_>) -> Result<(), Refusal> {
        use Payload as P;

        match payload {
            P::ModuleSection { .. } | P::ComponentSection { .. } => {
                self.levels += 1;
                self.most(Part::Levels, self.levels)?;
                self.more(Part::Modules, 1)
            }
            P::End(_) => {
                self.levels = self.levels.saturating_sub(1);
                Ok(())
            }
            P::ComponentTypeSection(types) => {
                self.more(Part::ComponentTypes, types.count().into())?;
                self.nesting(bytes, types.range())
            }
            P::CoreTypeSection(types) => self.more(Part::CoreTypes, types.count().into()),
            P::InstanceSection(instances) => self.more(Part::Instances, instances.count().into()),
            P::ComponentInstanceSection(instances) => self.more(Part::Instances, instances.count().into()),
            P::ComponentAliasSection(aliases) => self.more(Part::Aliases, aliases.count().into()),
            P::ComponentImportSection(imports) => self.more(Part::Ports, imports.count().into()),
            P::ComponentExportSection(exports) => self.more(Part::Ports, exports.count().into()),
            P::ComponentCanonicalSection(functions) => self.more(Part::Adapted, functions.count().into()),
            P::CustomSection(_) => self.more(Part::CustomSections, 1),
            of_module => self.take_of_module(of_module),
        }
    }

    fn take_of_module(&mut self, payload: &Payload<'_>) -> Result<(), Refusal> {
        use Payload as P;

        match payload {
            P::TypeSection(types) => self.more(Part::CoreTypes, types.count().into()),
            P::ImportSection(imports) => self.more(Part::CorePorts, imports.count().into()),
            P::ExportSection(exports) => self.more(Part::CorePorts, exports.count().into()),
            P::FunctionSection(functions) => self.more(Part::Functions, functions.count().into()),
            P::CodeSectionEntry(body) => self.function(body),
            P::GlobalSection(globals) => self.more(Part::Variables, globals.count().into()),
            P::MemorySection(memories) => self.more(Part::Variables, memories.count().into()),
            P::TableSection(tables) => self.more(Part::Variables, tables.count().into()),
            P::ElementSection(segments) => self.more(Part::Segments, segments.count().into()),
            P::DataSection(segments) => self.more(Part::Segments, segments.count().into()),
            // Headers, and what is refused with the proposals that it belongs to.
            _ => Ok(()),
        }
    }

    /// One function: its size, and the variables that it declares. A few bytes can declare four thousand millions.
    fn function(&mut self, body: &FunctionBody<'_>) -> Result<(), Refusal> {
        self.most(Part::FunctionBytes, body.range().len() as u64)?;
        let mut locals = 0_u64;
        for group in body.get_locals_reader().into_iter().flatten().map_while(Result::ok) {
            locals = locals.saturating_add(group.0.into());
            self.most(Part::FunctionLocals, locals)?;
        }
        self.more(Part::Locals, locals)
    }

    /// How deeply the types of a section nest, and how many stand within others.
    fn nesting(&mut self, bytes: &[u8], range: std::ops::Range<usize>) -> Result<(), Refusal> {
        let Some(section) = bytes.get(range.clone()) else { return Ok(()) };
        let limit = SHAPE_BOUNDS[Part::TypeLevels as usize].1;
        let nested = nesting::measure(BinaryReader::new(section, range.start), limit);
        self.most(Part::TypeLevels, nested.levels)?;
        self.more(Part::ComponentTypes, nested.inner)
    }

    fn more(&mut self, part: Part, count: u64) -> Result<(), Refusal> {
        self.most(part, self.counts[part as usize].saturating_add(count))
    }

    fn most(&mut self, part: Part, count: u64) -> Result<(), Refusal> {
        let (what, limit) = SHAPE_BOUNDS[part as usize];
        let highest = &mut self.counts[part as usize];
        *highest = count.max(*highest);
        if count > limit { Err(Refusal::Shape { what, limit }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Result<(), Refusal> {
        judge(&wat::parse_str(text).unwrap())
    }

    fn refused(text: &str, wanted: &str) {
        let refusal = shape(text).unwrap_err();
        assert!(matches!(refusal, Refusal::Shape { what, .. } if what == wanted), "{refusal}");
    }

    /// `count` times a piece of text, with its number in place of `#`.
    fn times(count: usize, piece: &str) -> String {
        (0..count).map(|number| piece.replace('#', &number.to_string())).collect()
    }

    /// T-21: counts that no toolchain comes near.
    #[test]
    fn too_much_of_anything_is_refused() {
        let component = |body: String| format!("(component {body})");
        let module = |body: String| format!("(component (core module {body}))");
        let types = "levels of types within each other";
        refused(
            &["(component ".repeat(18), ")".repeat(18)].concat(),
            "levels of components and modules within each other",
        );
        refused(&component(["(type (component ".repeat(17), "))".repeat(17)].concat()), types);
        refused(&component(["(type (instance ".repeat(17), "))".repeat(17)].concat()), types);
        refused(&component(times(201, "(core module)")), "modules and components");
        refused(&component(times(1_001, "(instance)")), "instances");
        refused(&component(times(10_001, "(type u8)")), "types of interfaces");
        refused(&component(format!("(type (instance {}))", times(10_001, "(type u8)"))), "types of interfaces");
        refused(&component(times(5_001, "(import \"a#\" (func))")), "imports and exports of components");
        refused(&module(times(20_001, "(type (func))")), "types of functions");
        refused(&module(times(50_001, "(import \"a\" \"b\" (func))")), "imports and exports of modules");
        refused(&module(times(10_001, "(global i32 i32.const 0)")), "globals, memories and tables");
        refused(&module(format!("(memory 1) {}", times(100_001, "(data \"\")"))), "segments of data and tables");
        refused(&module(times(1_001, "(@custom \"a\" \"b\")")), "custom sections");
        let locals = "i64 ".repeat(10_001);
        refused(&module(format!("(func (local {locals}))")), "local variables in one function");
        let locals = "i64 ".repeat(9_999);
        refused(&module(times(201, &format!("(func (local {locals}))"))), "local variables");
        refused(&module(format!("(func {})", "nop ".repeat(2 << 20))), "bytes in one function");
    }

    #[test]
    fn what_is_just_within_the_bounds_passes() {
        let component = |body: String| format!("(component {body})");
        shape(&component(["(type (component ".repeat(16), "))".repeat(16)].concat())).unwrap();
        shape(&component(times(200, "(core module)"))).unwrap();
        shape(&component(format!("(core module (func (local {})))", "i64 ".repeat(10_000)))).unwrap();
    }

    /// T-21, T-65: whatever the bytes are, judging them ends, and without a panic.
    #[test]
    fn any_bytes_are_judged() {
        let text = r#"(component
            (type (component (type (instance (type u8) (export "f" (func))))  (import "a" (func)) (core type (func))))
            (core module (func (local i32)) (memory 1) (data "x") (@custom "name" "y"))
            (component (type (record (field "a" u8)))))"#;
        let whole = wat::parse_str(text).unwrap();
        judge(&whole).unwrap();
        for at in 0..whole.len() {
            let _ = judge(&whole[..at]);
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                let _ = judge(&changed);
            }
        }
    }

    /// T-21: a few bytes a level, a million levels. Whoever read this by recursion would be gone.
    #[test]
    fn types_nested_a_million_times_are_refused_without_recursion() {
        let level = [0x41, 0x01, 0x01].repeat(1_000_000);
        let section = [&[0x01][..], &level].concat();
        let mut bytes = b"\0asm\x0d\0\x01\0\x07".to_vec();
        let mut length = section.len();
        while length > 0x7f {
            bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend(section);
        assert_eq!(judge(&bytes), Err(Refusal::Shape { what: "levels of types within each other", limit: 16 }));
    }
}
