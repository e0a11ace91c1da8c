//! The checked-in message types are what `core/proto` generates, and the call table names every call there.

use runstep_tests::wire;

/// Regenerating gives the checked-in text, so a `.proto` file cannot drift from the types.
#[test]
fn generated_files_are_current() {
    for file in wire::generate().expect("core/proto compiles") {
        let found = std::fs::read_to_string(&file.path).expect("the generated file is checked in");
        assert!(
            found == file.text,
            "{} is stale: cargo run -p runstep-tests --bin regenerate-wire",
            file.path.display()
        );
    }
}

/// The constants of `wire::service` are exactly the calls that the `.proto` files declare.
#[test]
fn method_paths_are_those_of_the_proto_files() {
    let set = wire::descriptors().expect("core/proto compiles");
    let mut declared: Vec<String> = set
        .file
        .iter()
        .flat_map(|file| file.service.iter().map(move |service| (file.package(), service)))
        .flat_map(|(package, service)| {
            service.method.iter().map(move |method| format!("/{package}.{}/{}", service.name(), method.name()))
        })
        .collect();
    let mut named: Vec<String> = runstep::wire::service::METHODS.iter().map(|method| String::from(*method)).collect();
    declared.sort();
    named.sort();
    assert_eq!(declared, named);
}
