//! What a job leaves besides its result, as its agent brings it: artifacts, and effects that happen through the server.

use decisions::Granted;
use runner::session::Collected;
use wire::runner::{ArtifactRef, Effect};

use super::agent::{ASK_TIMEOUT, Waits};
use super::course::{Course, Progress};
use super::words::{Client, Reply, Said};
use super::world::{World, digest};

impl World {
    pub(super) fn collect_artifacts(&mut self, index: usize) {
        let Some(busy) = self.busy(index) else { return };
        let Some(content) = busy.content else { return };
        let Granted { tenant, execution, .. } = busy.granted;
        busy.course = Some(Course::new(tenant, content, Some(execution)));
        self.go_on_with_course(index);
    }

    fn go_on_with_course(&mut self, index: usize) {
        let Some(request) = self.busy(index).and_then(|busy| busy.course.as_ref()).map(Course::request)
        else {
            return;
        };
        let call = self.ask(Client::Runner(index), request, ASK_TIMEOUT);
        if let Some(busy) = self.busy(index) {
            busy.calls.insert(call, (Waits::Course, None));
        }
    }

    pub(super) fn course_answered(&mut self, index: usize, reply: &Reply) {
        let now = self.uptime(index);
        let Some(busy) = self.busy(index) else { return };
        let Some(course) = &mut busy.course else { return };
        match course.handle(reply) {
            Progress::Next => self.go_on_with_course(index),
            Progress::Done => {
                let digest = digest(course.content);
                let uri = format!("blob:{digest}");
                busy.stored = vec![digest];
                busy.course = None;
                let path = Some("out/file".into());
                let artifacts = vec![ArtifactRef { r#type: "file".into(), uri, path }];
                busy.session.handle_collected(now, Collected::Done { artifacts, caches: Vec::new() });
            }
            Progress::Failed => {
                busy.course = None;
                let problem = "the server did not take it".to_owned();
                busy.session.handle_collected(now, Collected::Failed { problem, artifacts: Vec::new() });
            }
        }
    }

    /// The job itself says that its effect shall happen, before it ends.
    pub fn commit_effects(&mut self, index: usize, execution: wire::ExecId) {
        let Some(busy) = self.busy(index).filter(|busy| busy.granted.execution == execution) else { return };
        let body = serde_json::json!({ "job": busy.item });
        let effects = vec![
            Effect::Webhook { url: "https://effects.example.org/x".into(), body: body.clone() },
            Effect::Result { value: body },
        ];
        self.send_word(index, Said::Commit { effects }, ASK_TIMEOUT, (Waits::Commit, None));
    }

    pub(super) fn commit_answered(&mut self, index: usize, reply: &Reply) {
        let Some(busy) = self.busy(index) else { return };
        let execution = busy.granted.execution;
        busy.commits_left -= u32::from(busy.commits_left > 0);
        let again = *reply == Reply::Unknown && busy.commits_left > 0;
        if again {
            self.commit_effects(index, execution);
        }
    }
}
