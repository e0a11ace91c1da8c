//! Makes the message types and their schema tables in `core/src/wire` from the `.proto` files in `core/proto`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
use prost_build::{Config, Module};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// Fields kept behind a `Box`: the rare, large kinds of an attribute's value. An attribute map has room for eleven
/// values from the first one on, so the size of a value is paid elevenfold by every node.
const BOXED: &[&str] =
    &[".tensorflow.AttrValue.value.list", ".tensorflow.AttrValue.value.tensor", ".tensorflow.AttrValue.value.func"];

/// The text of a generated file and where it belongs.
pub struct Generated {
    /// The checked-in file.
    pub path: PathBuf,
    /// What it should hold.
    pub text: String,
}

/// Generates both files of `core/src/wire`: the prost types, and the schema tables that the scanner reads.
pub fn generate() -> Result<Vec<Generated>, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core");
    let set = descriptors()?;
    let types = types(&set)?;
    let boxes = types.matches("::prost::alloc::boxed::Box<").count();
    if boxes != BOXED.len() {
        return Err(format!("{boxes} boxed fields in the generated types, the tables know of {}", BOXED.len()).into());
    }
    let wire = root.join("src/wire");
    Ok(vec![
        Generated { path: wire.join("generated.rs"), text: types },
        Generated { path: wire.join("schema.rs"), text: tables(&set)? },
    ])
}

/// The compiled `.proto` files.
pub fn descriptors() -> Result<FileDescriptorSet, Box<dyn Error>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/proto");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|ext| ext == "proto"));
    files.sort();
    Ok(protox::compile(files, [dir])?)
}

fn types(set: &FileDescriptorSet) -> Result<String, Box<dyn Error>> {
    let module = Module::from_protobuf_package_name("tensorflow");
    let mut config = Config::new();
    config.btree_map(["."]).bytes(["."]);
    for path in BOXED {
        config.boxed(path);
    }
    let mut files = set.file.clone();
    // A service is a list of calls here, not code.
    files.iter_mut().for_each(|file| file.service.clear());
    let mut modules = config.generate(files.into_iter().map(|file| (module.clone(), file)).collect())?;
    let body = modules.remove(&module).ok_or("nothing generated for package tensorflow")?;
    Ok(format!(
        "//! The messages of `core/proto` as prost types. Made by `cargo run -p runstep-tests --bin regenerate-wire`.\n\n{body}"
    ))
}

/// A message with the path of its Rust type.
struct Named<'a> {
    rust: String,
    message: &'a DescriptorProto,
}

fn tables(set: &FileDescriptorSet) -> Result<String, Box<dyn Error>> {
    let mut messages = BTreeMap::new();
    for file in &set.file {
        for message in &file.message_type {
            collect(".tensorflow", "", message, &mut messages);
        }
    }
    let mut out = String::from(
        "//! What a message may hold, for the scanner. Made by `cargo run -p runstep-tests --bin regenerate-wire`.\n\n\
         // This file is @generated.\n\
         use core::mem::size_of;\n\n\
         use alloc::string::String;\n\
         use bytes::Bytes;\n\n\
         use super::generated as g;\n\
         use super::scan::{Field, Kind, Message, Scanned, Wire};\n",
    );
    for (path, named) in &messages {
        let name = table_name(path);
        if !is_map_entry(named.message) {
            write!(out, "\nimpl Scanned for {} {{\n    const MESSAGE: &'static Message = &{name};\n}}\n", named.rust)?;
        }
        let mut fields: Vec<_> = named.message.field.iter().collect();
        fields.sort_by_key(|field| field.number());
        if fields.len() > 64 {
            return Err(format!("{path} has more fields than the scanner's set of seen fields holds").into());
        }
        write!(out, "\nstatic {name}: Message = Message {{\n    fields: &[")?;
        for field in fields {
            let kind = kind(path, field, &messages)?;
            write!(out, "\n        Field {{ number: {}, kind: {kind} }},", field.number())?;
        }
        out.push_str(if named.message.field.is_empty() { "],\n};\n" } else { "\n    ],\n};\n" });
    }
    Ok(out)
}

fn collect<'a>(scope: &str, module: &str, message: &'a DescriptorProto, into: &mut BTreeMap<String, Named<'a>>) {
    let path = format!("{scope}.{}", message.name());
    let rust = format!("g::{module}{}", message.name().to_upper_camel_case());
    let inner = format!("{module}{}::", message.name().to_snake_case());
    for nested in &message.nested_type {
        collect(&path, &inner, nested, into);
    }
    into.insert(path, Named { rust, message });
}

fn table_name(path: &str) -> String {
    path.trim_start_matches(".tensorflow.").replace('.', "_").to_shouty_snake_case()
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

fn kind(path: &str, field: &FieldDescriptorProto, all: &BTreeMap<String, Named<'_>>) -> Result<String, Box<dyn Error>> {
    let repeated = field.label() == Label::Repeated;
    if field.r#type() == Type::Message {
        let target = all.get(field.type_name()).ok_or_else(|| format!("{} is not a message", field.type_name()))?;
        let table = table_name(field.type_name());
        if is_map_entry(target.message) {
            let part = |number: i32| -> Result<String, Box<dyn Error>> {
                let field = target.message.field.iter().find(|field| field.number() == number);
                rust_type(field.ok_or("a map entry lacks key or value")?, all)
            };
            return Ok(format!("Kind::Map(&{table}, size_of::<({}, {})>())", part(1)?, part(2)?));
        }
        let rust = &target.rust;
        let boxed = field.oneof_index.map_or_else(
            || format!("{path}.{}", field.name()),
            // prost names a field of a oneof by the oneof's name too.
            |index| {
                let owner = all.get(path).and_then(|named| named.message.oneof_decl.get(index as usize));
                format!("{path}.{}.{}", owner.map_or("", |oneof| oneof.name()), field.name())
            },
        );
        return Ok(match (repeated, BOXED.contains(&boxed.as_str())) {
            (true, _) => format!("Kind::Many(&{table}, size_of::<{rust}>())"),
            (false, true) => format!("Kind::Boxed(&{table}, size_of::<{rust}>())"),
            (false, false) => format!("Kind::One(&{table})"),
        });
    }
    Ok(match (field.r#type(), repeated) {
        (Type::String, false) => "Kind::Text".into(),
        (Type::String, true) => "Kind::Texts".into(),
        (Type::Bytes, false) => "Kind::Blob".into(),
        (Type::Bytes, true) => "Kind::Blobs".into(),
        (_, false) => format!("Kind::Scalar({})", wire(field)?),
        (_, true) => format!("Kind::Scalars({}, size_of::<{}>())", wire(field)?, rust_type(field, all)?),
    })
}

fn wire(field: &FieldDescriptorProto) -> Result<&'static str, Box<dyn Error>> {
    Ok(match field.r#type() {
        Type::Fixed32 | Type::Sfixed32 | Type::Float => "Wire::Fixed32",
        Type::Fixed64 | Type::Sfixed64 | Type::Double => "Wire::Fixed64",
        Type::Group => return Err("groups are not supported".into()),
        _ => "Wire::Varint",
    })
}

fn rust_type(field: &FieldDescriptorProto, all: &BTreeMap<String, Named<'_>>) -> Result<String, Box<dyn Error>> {
    Ok(match field.r#type() {
        Type::Double => "f64".into(),
        Type::Float => "f32".into(),
        Type::Int64 | Type::Sint64 | Type::Sfixed64 => "i64".into(),
        Type::Uint64 | Type::Fixed64 => "u64".into(),
        Type::Int32 | Type::Sint32 | Type::Sfixed32 | Type::Enum => "i32".into(),
        Type::Uint32 | Type::Fixed32 => "u32".into(),
        Type::Bool => "bool".into(),
        Type::String => "String".into(),
        Type::Bytes => "Bytes".into(),
        Type::Message => all.get(field.type_name()).ok_or("unknown message")?.rust.clone(),
        Type::Group => return Err("groups are not supported".into()),
    })
}
