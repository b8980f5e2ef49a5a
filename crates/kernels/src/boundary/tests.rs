//! Checks that the structures and enumerations of the boundary are the same on both sides. `boundary.h` and
//! `boundary.rs` are compared as text, because a swap of two fields of one size would change no
//! size or offset. C lays out the fields of a structure in order, and so does `repr(C)`.

use super::*;

/// A structure: its name in Rust, and the names and types of its fields.
type Structure = (String, Vec<(String, String)>);

/// The structures of `boundary.rs`.
fn in_rust() -> Vec<Structure> {
    let source = include_str!("../boundary.rs");
    let mut structures = Vec::new();
    for text in source.split("#[repr(C)]\n").skip(1) {
        let (_, text) = text.split_once("struct ").expect("a structure");
        let (name, text) = text.split_once(" {\n").expect("its fields");
        let (body, _) = text.split_once("\n}").expect("its end");
        let fields = body.split("    pub ").skip(1).map(|field| {
            let (name, of) = field.split_once(':').expect("a type");
            let of = match of.contains("unsafe extern") {
                true => "function",
                false => of.trim().trim_end_matches(','),
            };
            (name.to_owned(), of.to_owned())
        });
        structures.push((name.to_owned(), fields.collect()));
    }
    structures
}

/// The structures of `boundary.h`, in Rust's types.
fn in_c() -> Vec<Structure> {
    let header = include_str!("../../cpp/boundary.h");
    let lines = header
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    let header = lines.collect::<Vec<_>>().join("\n");
    let mut structures = Vec::new();
    for text in header.split("typedef struct ").skip(1) {
        // Other structures are opaque.
        if let Some((name, text)) = text.split_once(" {\n") {
            let (body, _) = text.split_once(&format!("\n}} {name};")).expect("its end");
            let declarations = body.split(';').map(str::trim);
            let declarations = declarations.filter(|text| !text.is_empty());
            structures.push((type_in_rust(name), declarations.flat_map(fields).collect()));
        }
    }
    structures
}

/// The fields declared in a line of C.
fn fields(declaration: &str) -> Vec<(String, String)> {
    if let Some((_, function)) = declaration.split_once("(*") {
        let (name, _) = function.split_once(')').expect("a pointer to a function");
        return vec![(name.into(), "function".into())];
    }
    if let Some((of, name)) = declaration.split_once("* ") {
        let of = match of.strip_prefix("const ") {
            Some(of) => format!("*const {}", type_in_rust(of)),
            None => format!("*mut {}", type_in_rust(of)),
        };
        return vec![(name.into(), of)];
    }
    let (of, names) = declaration.split_once(' ').expect("a type and names");
    let of = type_in_rust(of);
    let field = |name: &str| match name.split_once('[') {
        Some((name, count)) => (name.into(), format!("[{of}; {count}")),
        None => (name.into(), of.clone()),
    };
    names.split(", ").map(field).collect()
}

/// The Rust name of a C type.
fn type_in_rust(name: &str) -> String {
    match name {
        "char" => "c_char".into(),
        "void" => "c_void".into(),
        "double" => "f64".into(),
        "float" => "f32".into(),
        "uint8_t" => "u8".into(),
        "uint32_t" => "u32".into(),
        "uint64_t" => "u64".into(),
        "tokapi_error" => "ErrorText".into(),
        name => {
            let words = name.split('_').skip(1);
            let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
            words.map(capital).collect()
        }
    }
}

#[test]
fn both_sides_agree_on_every_field() {
    let (rust, mut c) = (in_rust(), in_c());
    assert_eq!(rust.len(), c.len());
    for (name, fields) in &rust {
        let place = c.iter().position(|(other, _)| other == name);
        let (_, declared) =
            c.swap_remove(place.unwrap_or_else(|| panic!("{name} is not in boundary.h")));
        assert!(!fields.is_empty());
        assert_eq!(*fields, declared, "{name}");
    }
}

/// The names in the enumeration that begins with `start` in `source`.
fn names<'a>(source: &'a str, start: &str) -> Vec<&'a str> {
    let (_, text) = source.split_once(start).expect("the enumeration");
    let (body, _) = text.split_once('}').expect("its end");
    let declarations = body
        .lines()
        .filter(|line| !line.trim().starts_with(['/', '#']));
    let names = declarations.flat_map(|line| line.split(','));
    names
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect()
}

/// Rust numbers variants from 0 on, in order.
#[test]
fn both_sides_agree_on_every_enumeration() {
    for (in_c, in_rust, source) in [
        ("method", "Method", include_str!("../input.rs")),
        ("algorithm", "Algorithm", include_str!("../sorter.rs")),
        ("tf_part", "TfPart", include_str!("../input.rs")),
        ("map", "MapFunction", include_str!("../mapper.rs")),
        ("reduce", "ReduceFunction", include_str!("../mapper.rs")),
        ("occur", "Occur", include_str!("../batch.rs")),
        ("scheme", "Scheme", include_str!("../lane.rs")),
    ] {
        let header = include_str!("../../cpp/boundary.h");
        let declared = names(header, &format!("typedef enum tokapi_{in_c} {{"));
        let variants = names(source, &format!("pub enum {in_rust} {{"));
        assert_eq!(declared.len(), variants.len(), "{in_rust}");
        for (number, (declared, variant)) in declared.iter().zip(variants).enumerate() {
            let (name, value) = declared.split_once(" = ").expect("a number");
            assert_eq!(value, number.to_string(), "{name}");
            let name = name.replace('_', "").to_lowercase();
            assert!(name.contains(&variant.to_lowercase()), "{name}, {variant}");
        }
    }
}

#[test]
fn both_compilers_agree_on_the_sizes() {
    let sizes = [
        size_of::<ErrorText>(),
        size_of::<Device>(),
        size_of::<Bandwidth>(),
        size_of::<Dictionary>(),
        size_of::<Trie>(),
        size_of::<Options>(),
        size_of::<Text>(),
        size_of::<Inverted>(),
        size_of::<Collected>(),
        size_of::<Formula>(),
        size_of::<SomeIdf>(),
        size_of::<Lexicon>(),
        size_of::<Part>(),
        size_of::<Times>(),
        size_of::<SorterOptions>(),
        size_of::<Sorting>(),
        size_of::<SortTimes>(),
        size_of::<ListsOptions>(),
        size_of::<Room>(),
        size_of::<Lists>(),
        size_of::<Renewal>(),
        size_of::<Term>(),
        size_of::<Query>(),
        size_of::<Batch>(),
        size_of::<Matches>(),
        size_of::<Ranked>(),
        size_of::<MapperOptions>(),
        size_of::<Records>(),
        size_of::<Groups>(),
        size_of::<MapperTimes>(),
    ];
    // SAFETY: the table has static lifetime.
    let api = unsafe { &*tokapi_host_api() };
    assert_eq!(api.sizes, sizes.map(|size| size as u64));
}
