//! Why a call did not work: what to tell a person, the exit code, and whether waiting may help.

use std::fmt;

use runner::client::{Lost, Reply};
use runner::transfer::UploadError;

use crate::output::Exit;

#[derive(Debug)]
pub struct ApiError {
    pub exit: Exit,
    /// The server's stable code, if it was the server that said no.
    pub code: Option<String>,
    /// The same request may work in a moment.
    pub passing: bool,
    /// The request may have been carried out all the same.
    pub perhaps_done: bool,
    message: String,
}

impl ApiError {
    /// No answer came.
    pub fn unreachable(url: &str, lost: &Lost) -> ApiError {
        // The last cause says it; those before name the layers of our client.
        let cause = lost.problem.rsplit(": ").next().unwrap_or(&lost.problem);
        ApiError {
            exit: Exit::Infrastructure,
            code: None,
            passing: true,
            perhaps_done: !lost.is_unsent,
            message: format!("no answer: {cause}; is the server running at {url}?"),
        }
    }

    /// A file could not be brought to the server.
    pub fn upload(url: &str, error: &UploadError) -> ApiError {
        let message = error.to_string();
        let failed = |exit| ApiError { exit, code: None, passing: false, perhaps_done: false, message };
        match error {
            UploadError::Changed | UploadError::Stale(_) => failed(Exit::Failed),
            UploadError::Unreachable { problem, .. } => {
                ApiError::unreachable(url, &Lost::perhaps_arrived(problem.clone()))
            }
            UploadError::Refused { status, code, problem } => ApiError {
                code: Some(code.clone()),
                message: format!("{problem}{}", next_step(*status)),
                ..failed(exit_of(*status))
            },
        }
    }

    /// An answer came that is none.
    pub fn broken(url: &str, problem: &str) -> ApiError {
        let message = format!("{url} gave {problem}");
        ApiError { exit: Exit::Infrastructure, code: None, passing: true, perhaps_done: true, message }
    }

    /// The answer was no.
    pub fn refused(url: &str, reply: &Reply) -> ApiError {
        let status = reply.status;
        let (passing, perhaps_done) = (matches!(status, 408 | 429 | 500..), status >= 500);
        let exit = exit_of(status);
        match serde_json::from_slice::<wire::api::Problem>(&reply.body) {
            Ok(problem) => {
                let message = problem.detail + next_step(status);
                ApiError { exit, code: Some(problem.code), passing, perhaps_done, message }
            }
            Err(_) => {
                let message = format!("{url} answered with status {status}; is it a Delta CI server?");
                ApiError { exit, code: None, passing, perhaps_done, message }
            }
        }
    }

    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// Says something more.
    pub fn hint(mut self, more: &str) -> ApiError {
        self.message.push_str(more);
        self
    }
}

/// What the request got wrong is usage; what the world has moved on from is a failure.
fn exit_of(status: u16) -> Exit {
    match status {
        401 | 403 => Exit::NotAuthorised,
        409 | 410 | 412 | 423 => Exit::Failed,
        400..500 if status != 408 && status != 429 => Exit::Usage,
        _ => Exit::Infrastructure,
    }
}

fn next_step(status: u16) -> &'static str {
    if status == 401 { " (DELTACI_TOKEN or --token-file)" } else { "" }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &str) -> ApiError {
        ApiError::refused("http://ci", &Reply { status, body: body.to_string().into() })
    }

    #[test]
    fn a_status_gives_the_exit_code() {
        let expected =
            [(401, 7), (403, 7), (404, 2), (422, 2), (413, 2), (409, 1), (429, 5), (503, 5), (500, 5)];
        for (status, code) in expected {
            let exit = refused(status, "").exit;
            assert_eq!(exit.code(), code, "{status}");
        }
    }

    #[test]
    fn a_problem_is_said_in_the_servers_words() {
        let body = r#"{"type":"t","title":"T","status":409,"detail":"the run is over","code":"run_over"}"#;
        let error = refused(409, body);
        assert_eq!(
            (error.to_string().as_str(), error.is("run_over"), error.passing),
            ("the run is over", true, false)
        );
        let error = refused(502, "<html>");
        assert!(error.to_string().contains("is it a Delta CI server?") && error.passing);
    }

    #[test]
    fn no_answer_names_the_address_and_the_cause() {
        let lost = Lost::unsent("client error (Connect): tcp connect error: Connection refused".into());
        let said = ApiError::unreachable("http://ci", &lost).to_string();
        assert_eq!(said, "no answer: Connection refused; is the server running at http://ci?");
    }
}
