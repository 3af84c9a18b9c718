//! `ahead settings`: what can be set, and what is set here.

use ahead_engine::settings::KEYS;
use ahead_study::table;
use serde_json::json;

use crate::arguments::SettingsArguments;
use crate::run::config::ConfigError;
use crate::run::settings_from_files;
/// The text to print: a table, or JSON when asked for.
pub(crate) fn show(arguments: &SettingsArguments) -> Result<String, ConfigError> {
    let settings = settings_from_files(arguments.config.as_ref())?;
    let rows = KEYS.iter().zip(settings.values());
    if arguments.json {
        let list: Vec<_> = rows
            .map(|(key, (_, value))| {
                json!({"name": key.name, "value": value, "default": key.default, "meaning": key.meaning})
            })
            .collect();
        return Ok(format!("{:#}\n", json!(list)));
    }
    let mut table = table::with_titles(&["setting", "value", "default", "meaning"], 0..0);
    for (key, (_, value)) in rows {
        table.add_row([key.name, &value, key.default, key.meaning]);
    }
    Ok(format!("{table}\n"))
}
