//! Components that cost far more than their size says: little files, each valid, each a different way to keep a compiler busy.
//!
//! Generators only; what becomes of them is for the tests that use them.

use std::fmt::Write as _;

/// A component with this inside, and with the export that makes it look like a plugin.
///
/// # Panics
///
/// When it is no WebAssembly text.
#[must_use]
pub fn component(inside: &str) -> Vec<u8> {
    let exports = r#"(instance $empty) (export "gristmill:plugin/handler@0.1.0" (instance $empty))"#;
    match wat::parse_str(format!("(component {inside} {exports})")) {
        Ok(bytes) => bytes,
        Err(error) => panic!("{error}"),
    }
}

/// One long function in which many values live at once and every branch may lead to many places: hard for whoever allocates
/// registers. `rounds` counts thirty bytes each.
#[must_use]
pub fn of_time(rounds: usize) -> Vec<u8> {
    let mut body = String::new();
    for round in 0..rounds {
        let [one, other, third] = [round * 7 % 400, round * 13 % 400, round * 29 % 400];
        let _ = write!(
            body,
            "block local.get {one} i32.eqz br_if 0 local.get {one} local.get {other} i32.mul local.set {third} local.get {third} br_if 1 end "
        );
    }
    let locals = "i32 ".repeat(400);
    component(&format!("(core module (func (export \"f\") (local {locals}) loop {body} end))"))
}

/// Components that hold the next one ten times, so that ten to the power of `levels` instances have to be made.
#[must_use]
pub fn of_instances(levels: usize) -> Vec<u8> {
    let mut inner = "(component $c0 (core module $m (func)) (core instance (instantiate $m)))".to_owned();
    for level in 1..=levels {
        let below = level - 1;
        let ten = format!("(instance (instantiate $c{below}))").repeat(10);
        inner = format!("(component $c{level} {inner} {ten})");
    }
    component(&format!("{inner} (instance (instantiate $c{levels}))"))
}

/// One function with blocks within blocks.
#[must_use]
pub fn of_blocks(depth: usize) -> Vec<u8> {
    component(&format!("(core module (func {} {}))", "block ".repeat(depth), "end ".repeat(depth)))
}

/// Types each of which holds the one before many times.
#[must_use]
pub fn of_types(count: usize) -> Vec<u8> {
    let mut types = "(type $t0 (tuple u8 u8 u8 u8))".to_owned();
    for number in 1..count {
        let below = number - 1;
        let _ = write!(types, "(type $t{number} (tuple $t{below} $t{below} $t{below} $t{below}))");
    }
    component(&types)
}

/// A branch with very many ways.
#[must_use]
pub fn of_ways(tables: usize, ways: usize) -> Vec<u8> {
    let table = format!("block block local.get 0 br_table {}1 end end ", "0 ".repeat(ways));
    component(&format!("(core module (func (param i32) {}))", table.repeat(tables)))
}

/// A plugin with so many bytes of names.
#[must_use]
pub fn of_names(plugin: &[u8], bytes: usize) -> Vec<u8> {
    // A core module that nobody instantiates: its section holds the names of functions, 50 bytes each.
    let mut names = Vec::new();
    let count = bytes / 50;
    leb(&mut names, count);
    for index in 0..count {
        leb(&mut names, index);
        let name = format!("{index:045}");
        leb(&mut names, name.len());
        names.extend(name.as_bytes());
    }
    let mut subsections = vec![1];
    leb(&mut subsections, names.len());
    subsections.extend(names);
    let mut section = vec![4];
    section.extend(b"name");
    section.extend(subsections);
    let mut module = b"\0asm\x01\0\0\0\0".to_vec();
    leb(&mut module, section.len());
    module.extend(section);
    let mut whole = plugin.to_vec();
    whole.push(1);
    leb(&mut whole, module.len());
    whole.extend(module);
    whole
}

fn leb(to: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}
