//! Puts the code of a guest into a component that fits the contract, as the corpus' README says.
//!
//! Must not know what any guest does.

const SKELETON: &str = include_str!("../../guests/hostile/component.wat");
const HOST: &str = include_str!("../../guests/hostile/host.wat");

/// What a guest has where its file does not say otherwise: how it is recognised, and what it is.
const DEFAULTS: [(&str, &str); 4] = [
    ("(export \"memory\"", "(memory (export \"memory\") 2)"),
    (
        "(export \"cabi_realloc\")",
        "(global $next' (mut i32) (i32.const 65536))
         (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32)
           ;; Everything in turn, each aligned to eight bytes. Nothing is grown.
           (global.get $next')
           (global.set $next'
             (i32.and (i32.add (i32.add (global.get $next') (local.get 3)) (i32.const 7)) (i32.const -8))))",
    ),
    (
        "(export \"process-batch\")",
        "(func (export \"process-batch\") (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))",
    ),
    ("(export \"post-return\")", "(func (export \"post-return\") (param i32))"),
];

/// The component, as text, that a file of the corpus stands for.
///
/// # Panics
///
/// When the file is neither a component nor has a module.
pub(crate) fn component(file: &str) -> String {
    let forms = forms(file);
    if forms.iter().any(|form| form.starts_with("(component") && forms.len() == 1) {
        return file.to_owned();
    }
    let (modules, around): (Vec<&str>, Vec<&str>) = forms.into_iter().partition(|form| form.starts_with("(module"));
    let [module] = modules.as_slice() else { panic!("a file of the corpus has one module: {file}") };
    let fields = module.trim_start_matches("(module").trim_end_matches(char::is_whitespace);
    let mut code = format!("(core module $code {}", fields.strip_suffix(')').unwrap_or(fields));
    for (known_by, field) in DEFAULTS {
        if !module.contains(known_by) {
            code += field;
        }
    }
    code.push(')');
    let asks = module.contains("(import \"host\"");
    let (host, with) = if asks { (HOST, " (with \"host\" (instance $host))") } else { ("", "") };
    let around = format!("{host}\n{}\n", around.join("\n"));
    SKELETON.replace("{around}", &around).replace("{code}", &code).replace("{with}", with)
}

/// The outermost forms of a file, without comments between them.
fn forms(file: &str) -> Vec<&str> {
    let (mut forms, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    let (mut in_comment, mut in_text) = (false, false);
    for (at, byte) in file.bytes().enumerate() {
        match byte {
            b'\n' => in_comment = false,
            _ if in_comment => {}
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b';' => in_comment = true,
            b'(' => {
                if depth == 0 {
                    begin = at;
                }
                depth += 1;
            }
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    forms.push(&file[begin..=at]);
                }
            }
            _ => {}
        }
    }
    forms
}
