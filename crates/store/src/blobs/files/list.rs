//! What lies below the folder, for whoever looks for bytes that nobody names.

use std::path::Path;

use super::Files;
use crate::blobs::{BlobError, blocking};

impl Files {
    pub async fn keys(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, BlobError> {
        let (root, after) = (self.root.clone(), after.unwrap_or_default().to_owned());
        blocking::run(move || {
            let mut keys = Vec::new();
            let folders = (0..=u8::MAX).map(|prefix| format!("blobs/{prefix:02x}")).chain(["staging".into()]);
            // A folder whose last key is not after `after` is passed over unread.
            for folder in folders.filter(|folder| format!("{folder}0") > after) {
                if keys.len() >= limit {
                    break;
                }
                keys.extend(names(&root, &folder)?.into_iter().filter(|key| *key > after));
            }
            keys.truncate(limit);
            Ok(keys)
        })
        .await
    }
}

fn names(root: &Path, folder: &str) -> Result<Vec<String>, BlobError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join(folder))? {
        names.push(format!("{folder}/{}", entry?.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(names)
}
