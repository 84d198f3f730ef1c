//! The documented configurations are read as they stand, and the documentation names every one of them.

use duologue::llm::{Api, ModelConfig, RemoteModel};

#[test]
fn every_documented_configuration_is_usable() {
    let docs = include_str!("../../docs/models.md");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/models");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(docs.contains(&format!("models/{name}")), "{name} is not mentioned");
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let config = ModelConfig::from_yaml(&text, |_| Some("key-for-test".into())).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(config.key().is_some(), text.contains("key_env"), "{name}");
        assert_eq!(config.api == Api::Anthropic, name.starts_with("anthropic"));
        RemoteModel::new(config).unwrap();
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn every_field_is_documented() {
    let docs = include_str!("../../docs/models.md");
    let shown = format!("{:?}", ModelConfig::default());
    for field in shown.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).filter_map(|w| w.strip_suffix(':')).filter(|f| *f != "key") {
        assert!(docs.contains(&format!("`{field}`")), "{field}");
    }
}
