//! `deltaci server`: API and orchestrator in one process, until SIGTERM or SIGINT.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use decisions::Policy;
use repo::Mirrors;
use server::artifacts::Judge;
use server::outbox::Rules;
use server::serve::{Duty, Server, Settings};
use store::blobs::Blobs;
use store::{Postgres, Sqlite, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};
use wire::TokenSecret;

use crate::database::{Address, Database};
use crate::files::allow_many;
use crate::local::data::{BLOBS, Data, make_folder};
use crate::output::{Exit, usage};
use crate::talk::Talk;

/// How long calls into the disk that nobody waits for any more may hold up the end.
const SHUTDOWN_MAX: Duration = Duration::from_secs(5);

/// Within the data directory.
const MIRRORS: &str = "mirrors";
/// What the client for NATS speaks.
const NATS_SCHEMES: [&str; 4] = ["nats", "tls", "ws", "wss"];
/// A person may choose less, and is told.
const ADMIN_TOKEN_SHORT: usize = 16;

#[derive(clap::Args)]
pub struct Args {
    /// Where to listen
    #[arg(long, env = "DELTACI_LISTEN", default_value = "127.0.0.1:7171", value_parser = listen)]
    listen: SocketAddr,
    #[command(flatten)]
    database: Database,
    /// A token that opens everything; without it one is minted and shown at the first start
    #[arg(long, env = "DELTACI_ADMIN_TOKEN", hide_env_values = true)]
    admin_token: Option<String>,
    /// A NATS server, for subscriptions to `nats:SUBJECT`
    #[arg(long, env = "DELTACI_NATS", hide_env_values = true, value_name = "URL")]
    nats: Option<String>,
    /// Let webhooks go to private, loopback and other reserved addresses
    #[arg(long, env = "DELTACI_ALLOW_PRIVATE_WEBHOOKS", value_parser = clap::builder::BoolishValueParser::new(),
        default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    allow_private_webhooks: bool,
    /// Read repositories on this machine's own disk, for runs without a plan; not where several tenants share it
    #[arg(long, env = "DELTACI_ALLOW_LOCAL_REPOSITORIES", value_parser = clap::builder::BoolishValueParser::new(),
        default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    allow_local_repositories: bool,
    /// Where artifacts are kept: a folder, or s3://bucket/prefix with the usual AWS_ variables; without it, in the data
    /// directory
    #[arg(long, env = "DELTACI_BLOBS")]
    blobs: Option<String>,
    #[command(flatten)]
    publishing: Publishing,
    #[command(flatten)]
    timings: Timings,
    #[command(flatten)]
    talk: Talk,
}

/// What a version must pass before it is published; without either, everything is.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Publishing {
    /// A Rego file whose rule data.deltaci.publish decides
    #[arg(long, env = "DELTACI_POLICY", value_name = "FILE")]
    policy: Option<PathBuf>,
    /// An endpoint that decides, as OPA answers: {"input":…} in, {"result":…} out
    #[arg(long, env = "DELTACI_POLICY_URL", value_name = "URL", hide_env_values = true)]
    policy_url: Option<String>,
}

impl Publishing {
    fn judge(&self) -> Result<Judge> {
        match (&self.policy, &self.policy_url) {
            (Some(path), _) => {
                Judge::from_file(path).with_context(|| format!("cannot use the policy {}", path.display()))
            }
            // Not repeated: it may hold a password.
            (None, Some(address)) => Judge::from_address(address)
                .map_err(|error| usage(format!("cannot use --policy-url: {error}"))),
            (None, None) => Ok(Judge::Absent),
        }
    }
}

/// Durations such as `300ms`, `120s`, `60m`, `6h` or `7d`.
#[derive(clap::Args)]
struct Timings {
    /// How long a lease lives without a heartbeat
    #[arg(long, env = "DELTACI_LEASE_TTL", default_value = "120s", value_parser = duration)]
    lease_ttl: Duration,
    /// How often runners are told to send a heartbeat [default: 20s, or a third of --lease-ttl if that is less]
    #[arg(long, env = "DELTACI_HEARTBEAT_INTERVAL", value_parser = duration)]
    heartbeat_interval: Option<Duration>,
    /// How long a runner may take to acknowledge a lease
    #[arg(long, env = "DELTACI_ACK_TIMEOUT", default_value = "30s", value_parser = duration)]
    ack_timeout: Duration,
    /// How long a cancelled job may take to stop
    #[arg(long, env = "DELTACI_CANCEL_DEADLINE", default_value = "30s", value_parser = duration)]
    cancel_deadline: Duration,
    /// How long a run may wait for its plan
    #[arg(long, env = "DELTACI_PLAN_TIMEOUT", default_value = "60s", value_parser = duration)]
    plan_timeout: Duration,
    /// How long a run may take
    #[arg(long, env = "DELTACI_RUN_TIMEOUT", default_value = "6h", value_parser = duration)]
    run_timeout: Duration,
    /// How long a job may take that names no timeout of its own
    #[arg(long, env = "DELTACI_JOB_TIMEOUT", default_value = "60m", value_parser = duration)]
    job_timeout: Duration,
    /// How long a delivery may stay without a result before it is tried again
    #[arg(long, env = "DELTACI_DELIVERY_CLAIM_TTL", default_value = "60s", value_parser = duration)]
    delivery_claim_ttl: Duration,
    /// The pause after a delivery's first failure; it doubles up to five minutes
    #[arg(long, env = "DELTACI_DELIVERY_BACKOFF", default_value = "1s", value_parser = duration)]
    delivery_backoff: Duration,
    /// How long an upload may take until it is committed
    #[arg(long, env = "DELTACI_UPLOAD_TTL", default_value = "24h", value_parser = duration)]
    upload_ttl: Duration,
    /// How long bytes stay that somebody was told of and nothing refers to
    #[arg(long, env = "DELTACI_BLOB_GRACE", default_value = "1h", value_parser = duration)]
    blob_grace: Duration,
    /// How often bytes that nothing refers to are collected
    #[arg(long, env = "DELTACI_GC_INTERVAL", default_value = "1h", value_parser = duration)]
    gc_interval: Duration,
    /// How long a cache is kept that no job asks for
    #[arg(long, env = "DELTACI_CACHE_TTL", default_value = "7d", value_parser = duration)]
    cache_ttl: Duration,
    /// How long the log of a job stays in the database after its lease has ended; then it is kept with the artifacts
    #[arg(long, env = "DELTACI_LOG_ARCHIVE_AFTER", default_value = "60s", value_parser = duration)]
    log_archive_after: Duration,
    /// How long a collection may stand still before another server goes on with it
    #[arg(long, env = "DELTACI_GC_HOLD", default_value = "60s", value_parser = duration)]
    gc_hold: Duration,
}

/// Heartbeats within the life of a lease, so that one may be late and one lost.
const HEARTBEATS_A_LEASE: u32 = 3;

impl Timings {
    /// A lease that ends before its first heartbeat is due ends every job with it.
    fn heartbeat_interval(&self) -> Result<Duration> {
        let (ttl, usual) = (self.lease_ttl, Policy::default().heartbeat_interval);
        let share = ttl / HEARTBEATS_A_LEASE;
        let interval = self.heartbeat_interval.unwrap_or(usual.min(share));
        if interval < ttl {
            return Ok(interval);
        }
        Err(usage(format!(
            "with a heartbeat only every {interval:?}, each lease would end after {ttl:?} before the first of them, and its \
             job be lost: give --heartbeat-interval at most a third of --lease-ttl, here {share:?}, or make --lease-ttl \
             three times --heartbeat-interval, here {:?}",
            interval.saturating_mul(HEARTBEATS_A_LEASE)
        )))
    }

    fn policy(&self) -> Result<Policy> {
        Ok(Policy {
            lease_ttl: self.lease_ttl,
            heartbeat_interval: self.heartbeat_interval()?,
            ack_timeout: self.ack_timeout,
            cancel_deadline: self.cancel_deadline,
            plan_timeout: self.plan_timeout,
            run_timeout: self.run_timeout,
            job_timeout: self.job_timeout,
            delivery_claim_ttl: self.delivery_claim_ttl,
            delivery_backoff_first: self.delivery_backoff,
            upload_ttl: self.upload_ttl,
            blob_grace: self.blob_grace,
            cache_ttl: self.cache_ttl,
            collection_hold: self.gc_hold,
            ..Policy::default()
        })
    }
}

/// Nothing that crosses a network or a disk is over sooner.
const DURATION_MIN: Duration = Duration::from_millis(1);

fn duration(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let parsed = match days {
        Some(days) => jiff::SignedDuration::from_secs(i64::from(days) * 24 * 3600),
        None => text.parse().map_err(|_| {
            format!("`{text}` is no duration; expected one such as 300ms, 120s, 60m, 6h or 7d")
        })?,
    };
    Duration::try_from(parsed).ok().filter(|duration| *duration >= DURATION_MIN).ok_or_else(|| {
        format!("`{text}` is too short: it must be more than zero, and {DURATION_MIN:?} at least")
    })
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected an IP address and a port, such as 127.0.0.1:7171 or [::1]:7171; names are not looked up"
            .into()
    })
}

pub fn run(args: Args) -> Result<ExitCode> {
    args.talk.begin();
    let address = args.database.address()?;
    can_be_used(&args)?;
    allow_many();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        match address {
            Address::Postgres(address) => {
                serve(Arc::new(Postgres::open(address).await?), &args, "PostgreSQL").await
            }
            Address::File(path) => serve(Arc::new(sqlite(path)?), &args, &path.display().to_string()).await,
            Address::OfData(path) => {
                let _shared = Data::share(&args.database.data)?;
                serve(Arc::new(sqlite(&path)?), &args, &path.display().to_string()).await
            }
        }
    });
    runtime.shutdown_timeout(SHUTDOWN_MAX);
    ended
}

/// What is wrong in the words alone is said before anything is made or opened.
fn can_be_used(args: &Args) -> Result<()> {
    args.timings.policy()?;
    args.publishing.judge()?;
    if let Some((scheme, _)) = args.blobs.as_deref().and_then(|place| place.split_once("://"))
        && scheme != "s3"
    {
        return Err(usage(format!(
            "--blobs: artifacts are not kept at `{scheme}://`; give a folder, or s3://bucket/prefix"
        )));
    }
    if let Some((scheme, _)) = args.nats.as_deref().and_then(|address| address.split_once("://"))
        && !NATS_SCHEMES.contains(&scheme)
    {
        return Err(usage(format!(
            "--nats: `{scheme}://` is not NATS; give nats://HOST:PORT or tls://HOST:PORT"
        )));
    }
    if args.admin_token().is_some_and(|token| token.len() < ADMIN_TOKEN_SHORT) {
        eprintln!(
            "warning: the admin token opens everything, and this one has less than {ADMIN_TOKEN_SHORT} characters; take a \
             longer one that nobody guesses"
        );
    }
    Ok(())
}

impl Args {
    /// One without a letter opens nothing, as when a variable that should hold it does not.
    fn admin_token(&self) -> Option<&str> {
        self.admin_token.as_deref().filter(|token| !token.is_empty())
    }
}

fn sqlite(path: &Path) -> Result<Sqlite> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    Ok(Sqlite::open(path)?)
}

async fn blobs(args: &Args) -> Result<Blobs> {
    let address = match &args.blobs {
        Some(address) => address.clone(),
        None => args.database.data.join(BLOBS).to_str().context("the data directory is no text")?.to_owned(),
    };
    Blobs::open(&address).await.with_context(|| format!("cannot keep artifacts in {address}"))
}

/// SIGTERM and SIGINT, which say the same. Heard from the start, so that none is lost.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn heard() -> Result<Signals> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Signals { terminate, interrupt })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Told twice: whatever hangs, a store or a blob, is not waited for. How things stand is what the next start looks for,
/// as after any crash.
fn end_at_once() -> ! {
    eprintln!("deltaci server ends at once: it was told twice");
    std::process::exit(Exit::Infrastructure.code().into());
}

async fn start<S: Store>(store: Arc<S>, args: &Args) -> Result<Server<S>> {
    let settings = Settings {
        listen: Some(args.listen),
        duty: Duty::All,
        policy: args.timings.policy()?,
        admin_token: args.admin_token().map(|token| TokenSecret::from(token.to_owned())),
        outbox: Rules { nats: args.nats.clone(), allow_private: args.allow_private_webhooks },
        blobs: blobs(args).await?,
        judge: args.publishing.judge()?,
        collect_every: args.timings.gc_interval,
        archive_logs_after: Some(args.timings.log_archive_after),
        mirrors: Some(
            Mirrors::new(args.database.data.join(MIRRORS)).allow_local(args.allow_local_repositories),
        ),
    };
    Ok(Server::start(store, settings).await?)
}

/// The server, and whether it was told to stop meanwhile: a start is not cut short, or a token that it has just minted
/// would never be shown.
async fn started<S: Store>(store: Arc<S>, args: &Args, signals: &mut Signals) -> Result<(Server<S>, bool)> {
    let mut starting = pin!(start(store, args));
    tokio::select! {
        started = &mut starting => return Ok((started?, false)),
        () = signals.next() => eprintln!("deltaci server stops as soon as it has started"),
    }
    tokio::select! {
        started = &mut starting => Ok((started?, true)),
        () = signals.next() => end_at_once(),
    }
}

async fn serve<S: Store>(store: Arc<S>, args: &Args, database: &str) -> Result<ExitCode> {
    let mut signals = Signals::heard()?;
    let (server, is_told) = started(store, args, &mut signals).await?;
    if let Some(token) = &server.minted {
        eprintln!("admin token, shown this once: {}", token.expose());
    }
    if let Some(address) = server.address {
        eprintln!("deltaci server listens on http://{address} with {database}");
    }
    let told = async {
        if !is_told {
            signals.next().await;
        }
    };
    let ended = tokio::select! {
        () = told => Ok(Exit::Success.into()),
        // Whoever started us starts us again: that brings to the disk what is only in memory, or says that it cannot.
        why = server.disabled() => Err(anyhow!(why)),
    };
    eprintln!("deltaci server stops");
    tokio::select! {
        () = server.stop() => ended,
        () = signals.next() => end_at_once(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("300ms", 300),
            ("1.5s", 1_500),
            ("120s", 120_000),
            ("60m", 3_600_000),
            ("6h", 21_600_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "soon", "d", "-1d"] {
            assert!(duration(text).unwrap_err().contains("such as 300ms"), "{text}");
        }
        for text in ["0s", "0d", "-1s", "1ns", "999us"] {
            assert!(duration(text).unwrap_err().contains("more than zero, and 1ms at least"), "{text}");
        }
    }
}
