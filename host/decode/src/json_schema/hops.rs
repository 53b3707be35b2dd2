//! How far a schema may send its validator down the stack, and how much of it that takes.
//!
//! At one value the validator goes through each keyword that applies in place at most once: whatever comes back to where it was would
//! never end, and is cut. So a schema with K of them makes at most K hops at a value, and over a record with values inside of each
//! other that many at each level. Neither factor is small by itself: that is why their product is bounded.

use serde_json::Value;

use crate::json_text::Exceeded;
use crate::limits::Limits;
use crate::stack::STACK_BYTES;

/// The keywords that apply a schema to the value at which they stand, in any draft.
const IN_PLACE: [&str; 15] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "extends",
];

/// How many keywords in place a schema may have, with all that it refers to. One with more is refused.
const KEYWORDS_MAX: usize = 10_000;

/// How many of them the largest meta-schema of a draft has, rounded up: it may be referred to without being there.
const META_KEYWORDS: usize = 100;

/// How many hops a record may take: its levels times the keywords. Where a schema has many, fewer levels are checked.
const HOPS_MAX: usize = 50_000;

/// How much stack a hop takes. Measured with jsonschema 0.61 in the development build, whose frames are the largest: 1635 bytes where
/// `oneOf` tells why none of its schemas holds, 450 to 830 for the others.
const HOP_BYTES: usize = 2 << 10;

/// How much the step to a value inside of another takes, measured likewise: 3760 bytes for `patternProperties`.
const LEVEL_BYTES: usize = 4 << 10;

/// What is left for everything else: our own frames, a pattern, a format.
const REST_BYTES: usize = 256 << 10;

// The deepest that is checked: the product is exceeded by one more value at the end, at most with the largest schema.
const _: () = assert!(stack_bytes(1, HOPS_MAX + KEYWORDS_MAX + 1) + 101 * LEVEL_BYTES <= STACK_BYTES);

const fn stack_bytes(levels: usize, hops: usize) -> usize {
    hops * HOP_BYTES + levels * LEVEL_BYTES + REST_BYTES
}

/// The hops that a schema may make at one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hops {
    keywords: usize,
    has_branches: bool,
}

impl Hops {
    /// Counts those of schemas that belong together.
    ///
    /// # Errors
    /// Says that there are too many.
    pub(super) fn count<'a>(schemas: impl Iterator<Item = &'a Value>) -> Result<Self, String> {
        let (mut keywords, mut has_branches) = (0, false);
        for schema in schemas {
            count(schema, &mut keywords, &mut has_branches);
        }
        if keywords > KEYWORDS_MAX {
            return Err(format!(
                "it has {keywords} keywords like $ref and allOf, with the schemas that it refers to; at most {KEYWORDS_MAX} are followed"
            ));
        }
        Ok(Self { keywords, has_branches })
    }

    /// Limits under which a record is not nested deeper than can be followed.
    pub(super) fn limit(self, limits: Limits) -> Limits {
        let followed = (HOPS_MAX / (self.keywords + 1)).max(1);
        Limits { depth_max: limits.depth().min(followed), ..limits }
    }

    /// Why a record is nested too deeply.
    pub(super) fn too_deep(self, limits: Limits) -> String {
        let (own, followed) = (limits.depth(), self.limit(limits).depth());
        let told = Exceeded::Depth(followed).to_string();
        if followed == own {
            return told;
        }
        format!("{told}, the most with a schema that has {} keywords like $ref and allOf", self.keywords)
    }

    /// How many there are.
    pub(super) fn keywords(self) -> usize {
        self.keywords
    }

    /// True where the validator gathers all that is wrong under each of several schemas.
    pub(super) fn has_branches(self) -> bool {
        self.has_branches
    }

    /// How much stack a record takes within these limits.
    pub(super) fn stack_bytes(self, limits: Limits) -> usize {
        // A record of one level has values in it, which are checked as well.
        let levels = self.limit(limits).depth() + 1;
        stack_bytes(levels, levels * (self.keywords + 1))
    }
}

/// Counts the keywords in place of a schema. Names of properties that look like one are counted as well.
fn count(schema: &Value, keywords: &mut usize, has_branches: &mut bool) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                *keywords += usize::from(IN_PLACE.contains(&name.as_str()));
                *has_branches |= matches!(name.as_str(), "anyOf" | "oneOf");
                if value.as_str().is_some_and(|target| name.ends_with("ef") && target.contains("json-schema.org")) {
                    *keywords += META_KEYWORDS;
                    *has_branches = true;
                }
                count(value, keywords, has_branches);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| count(item, keywords, has_branches)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hops(schema: &Value) -> usize {
        Hops::count(std::iter::once(schema)).unwrap().keywords
    }

    #[test]
    fn what_applies_in_place_is_counted_wherever_it_stands() {
        assert_eq!(hops(&json!({"type": "object", "properties": {"a": {"type": "string"}}})), 0);
        assert_eq!(hops(&json!({"allOf": [{"$ref": "#/a"}, {"not": {"items": {"$ref": "#"}}}]})), 4);
        assert_eq!(hops(&json!({"if": true, "then": {"anyOf": []}, "else": {"oneOf": []}})), 5);
        assert_eq!(hops(&json!({"$ref": "https://json-schema.org/draft/2020-12/schema"})), 101);
    }

    fn of(keywords: usize) -> Hops {
        Hops { keywords, has_branches: false }
    }

    #[test]
    fn the_more_keywords_the_fewer_levels_and_the_stack_is_enough_for_both() {
        let limits = Limits::default();
        for (keywords, depth) in [(0, 100), (499, 100), (500, 99), (1999, 25), (KEYWORDS_MAX, 4)] {
            let hops = of(keywords);
            assert_eq!(hops.limit(limits).depth(), depth, "{keywords}");
            assert!(hops.stack_bytes(limits) <= STACK_BYTES, "{keywords}");
        }
        assert!(!of(0).too_deep(limits).contains("keywords"));
        assert!(
            of(KEYWORDS_MAX).too_deep(limits).contains("deeper than 4 levels, the most with a schema that has 10000")
        );
    }
}
