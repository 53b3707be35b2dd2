//! Where a registry is, and what must not be told of it: who we are to it.
//!
//! It asks nobody. A registry may repeat in an answer what it was told, and answers end up in logs.

use std::fmt;

use super::settings::RegistryAuth;

/// What stands in the place of a secret.
const BLOT: &str = "***";

/// An address, and secrets.
#[derive(Clone)]
pub(super) struct Site {
    /// Without a slash at the end, and without credentials.
    url: String,
    /// The longest first: one may be a part of another.
    secrets: Vec<String>,
}

impl Site {
    /// `header` is what we say about ourselves, as it is sent.
    pub(super) fn new(url: String, auth: Option<&RegistryAuth>, header: Option<&str>) -> Self {
        let secret = match auth {
            Some(RegistryAuth::Basic { password, .. }) => Some(password.reveal()),
            Some(RegistryAuth::Bearer(token)) => Some(token.reveal()),
            None => None,
        };
        let sent = header.and_then(|header| header.split_once(' ')).map(|(_, encoded)| encoded);
        let plain: Vec<String> = [header, sent, secret].into_iter().flatten().map(str::to_owned).collect();
        // As it stands in an answer that is not taken apart, its quotes and backslashes are escaped.
        let escaped = plain.iter().filter_map(|text| serde_json::to_string(text).ok());
        let escaped = escaped.map(|text| text.trim_matches('"').to_owned());
        let mut secrets: Vec<String> = escaped.chain(plain.iter().cloned()).filter(|text| !text.is_empty()).collect();
        secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { url, secrets }
    }

    /// The address.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The text without our secrets.
    pub(super) fn blot(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, BLOT))
    }
}

/// The address.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Secret;
    use super::*;

    #[test]
    fn whatever_we_say_about_ourselves_is_blotted_out() {
        let auth = RegistryAuth::Basic { user: "bob".to_owned(), password: Secret::new("hunter\"2") };
        let site = Site::new("http://h".to_owned(), Some(&auth), Some("Basic Ym9iOmh1bnRlciIy"));
        assert_eq!(site.blot("no user Basic Ym9iOmh1bnRlciIy!"), "no user ***!");
        assert_eq!(site.blot("Ym9iOmh1bnRlciIy hunter\"2 bob:hunter\\\"2"), "*** *** bob:***");
        let site =
            Site::new("http://h".to_owned(), Some(&RegistryAuth::Bearer(Secret::new("t0k"))), Some("Bearer t0k"));
        assert_eq!(site.blot("Bearer t0k, t0k"), "***, ***");
        let auth = RegistryAuth::Basic { user: "bob".to_owned(), password: Secret::new("") };
        let site = Site::new("http://h".to_owned(), Some(&auth), Some("Basic Ym9iOg=="));
        assert_eq!(site.blot("as it is: Ym9iOg=="), "as it is: ***");
        assert_eq!(Site::new("http://h".to_owned(), None, None).blot("as it is"), "as it is");
    }
}
