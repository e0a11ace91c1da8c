//! The master: the table of sessions and the ten calls on it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashMap;

use super::action::{Action, ReplyForm, Then, Wait};
use super::options::MasterOptions;
use super::recent::RecentIds;
use super::session::{SessionParts, SessionState};
use crate::Status;
use crate::device::{DeviceAttributes, DeviceSpec};
use crate::host::{Host, Level, Time};
use crate::program::DeviceEnv;
use crate::resource::ResourceManager;
use crate::service::{
    CallOptions, CloseSessionRequest, CreateSessionRequest, CreateSessionResponse, ExtendSessionRequest,
    ExtendSessionResponse, ListDevicesRequest, ListDevicesResponse, Request, ResetRequest, Response, SessionConfig,
};
use crate::sync::Mutex;

/// Memory that a CPU device says it has, as TensorFlow's do.
const CPU_MEMORY_LIMIT: i64 = 256 << 20;

/// A master of one task with its CPU devices: a state machine without sockets, threads, executor or clock.
///
/// Requests and moments go in, [`Action`]s come out; a driver ([`super::Server`], or a simulation) carries them out. All
/// methods may be called from several threads at once. The table is locked for a look-up, never while anything is
/// imported, compiled or run.
///
/// # Calls
/// | request | what the driver gets |
/// | --- | --- |
/// | CreateSession, ExtendSession, PartialRunSetup, MakeCallable, ReleaseCallable, ListDevices | [`Action::Reply`] |
/// | RunStep, RunCallable | [`Action::StartStep`], or `ContinuePartial` with a partial run's handle |
/// | CloseSession, Reset | [`Action::Wait`] while steps run, with their cancellation |
/// | any that needs what another call compiles at this moment | [`Action::Wait`], then the request again |
pub struct Master {
    pub(super) options: MasterOptions,
    pub(super) host: Arc<dyn Host>,
    attributes: Vec<DeviceAttributes>,
    specs: Arc<[DeviceSpec]>,
    /// Devices with the resources that all sessions share but those that ask for their own.
    shared: Vec<DeviceEnv>,
    table: Mutex<Table>,
    request_ids: Mutex<RecentIds>,
    /// Stands in for entropy on a host without any.
    counter: AtomicUsize,
}

#[derive(Default)]
struct Table {
    sessions: HashMap<String, Arc<SessionState>>,
    shut_down: bool,
}

impl Master {
    /// A master without sessions.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when the job cannot be part of a device name or a container, or there is no device.
    pub fn new(options: MasterOptions, host: Arc<dyn Host>) -> Result<Master, Status> {
        let specs: Arc<[DeviceSpec]> =
            (0..options.cpus).map(|id| DeviceSpec::cpu(&options.job, options.task, id)).collect();
        let names: Vec<String> = specs.iter().map(|spec| format!("{spec}")).collect();
        let wrong = names.iter().zip(&*specs).any(|(name, spec)| DeviceSpec::parse(name).as_ref() != Some(spec));
        if wrong || specs.is_empty() {
            return Err(Status::invalid_argument(format_args!(
                "job '{}' with {} devices cannot be: a job is a letter, then letters, digits and '_', and there is at \
                 least one device",
                options.job.escape_debug(),
                options.cpus
            )));
        }
        let request_ids = Mutex::new(RecentIds::new(options.request_ids_max));
        let mut master = Master {
            shared: Vec::new(),
            attributes: Vec::new(),
            specs,
            options,
            host,
            table: Mutex::default(),
            request_ids,
            counter: AtomicUsize::new(0),
        };
        master.shared = master.new_devices(&names);
        master.attributes = names
            .into_iter()
            .map(|name| DeviceAttributes {
                name,
                device_type: "CPU".into(),
                memory_limit: CPU_MEMORY_LIMIT,
                incarnation: (master.random() as u64).max(1),
            })
            .collect();
        Ok(master)
    }

    /// Takes a request at `now`, which a master without a clock does not know.
    pub fn call(&self, request: Request, options: CallOptions, now: Option<Time>) -> Action {
        let form = ReplyForm::of(&request);
        let (id, method) = match &request {
            Request::RunStep(r) => (r.request_id, "RunStep"),
            Request::PartialRunSetup(r) => (r.request_id, "PartialRunSetup"),
            Request::MakeCallable(r) => (r.request_id, "MakeCallable"),
            Request::RunCallable(r) => (r.request_id, "RunCallable"),
            _ => (0, ""),
        };
        if id != 0 && !self.request_ids.lock().insert(id) {
            let error = Status::aborted(format_args!("The same {method} request was received twice: id {id}"));
            return Action::Reply(form.reply(Err(error)));
        }
        let deadline = options.timeout_ms.and_then(|ms| Some(now?.plus_millis(ms)));
        self.dispatch(request, deadline, now)
    }

    /// Goes on with a call that waited.
    pub fn resume(&self, wait: Wait, now: Option<Time>) -> Action {
        let timed_out = wait.until.zip(now).is_some_and(|(until, now)| now >= until);
        match wait.then {
            Then::Reply(response) => {
                if timed_out {
                    self.host.log(Level::Warn, format_args!("closed a session whose steps have not ended yet"));
                }
                Action::Reply(Ok(response))
            }
            Then::Retry(request, _) if timed_out => {
                let error = Status::deadline_exceeded("the call timed out while its signature was being compiled");
                Action::Reply(ReplyForm::of(&request).reply(Err(error)))
            }
            Then::Retry(request, deadline) => self.dispatch(request, deadline, now),
        }
    }

    fn dispatch(&self, request: Request, deadline: Option<Time>, now: Option<Time>) -> Action {
        let form = ReplyForm::of(&request);
        let reply = |response| Action::Reply(Ok(response));
        let result = match request {
            Request::CreateSession(r) => self.create_session(r, now).map(reply),
            Request::ExtendSession(r) => self.extend_session(r, now).map(reply),
            Request::ListDevices(r) => self.list_devices(&r).map(reply),
            Request::CloseSession(r) => self.close_session(&r, now),
            Request::Reset(r) => self.reset(&r, now),
            Request::RunStep(r) if r.partial_run_handle.is_empty() => self.run_step(r, deadline, now),
            Request::RunStep(r) => self.continue_partial_run(r, deadline, now),
            Request::PartialRunSetup(r) => self.partial_run_setup(r, deadline),
            Request::MakeCallable(r) => self.make_callable(r, deadline, now),
            Request::RunCallable(r) => self.run_callable(r, deadline, now),
            Request::ReleaseCallable(r) => self.release_callable(&r, now).map(reply),
        };
        result.unwrap_or_else(|error| Action::Reply(form.reply(Err(error))))
    }

    /// Collects sessions that nobody has used for longer than the limit; a running step counts as use. Answers when to
    /// call again, `None` for never.
    pub fn tick(&self, now: Time) -> Option<Time> {
        let limit = self.options.session_idle_ms_max;
        if limit == 0 {
            return None;
        }
        let is_idle = |session: &SessionState| {
            session.running.idle_since(now).is_some_and(|since| now >= since.plus_millis(limit) && now > since)
        };
        let sessions: Vec<Arc<SessionState>> = self.table.lock().sessions.values().cloned().collect();
        for session in sessions.iter().filter(|session| is_idle(session)) {
            let gone = self.table.lock().sessions.remove(&session.handle);
            if gone.is_some() {
                // A step that began since is cancelled like one of a closed session.
                for step in session.running.close().steps {
                    step.cancel(Status::cancelled("Step was cancelled because the session was garbage collected."));
                }
                session.clear();
                self.host.log(Level::Info, format_args!("collected an idle session"));
            }
        }
        /// Milliseconds between looks at all sessions, at most and at least.
        const PERIOD: (u64, u64) = (10, 10_000);
        Some(now.plus_millis((limit / 4).clamp(PERIOD.0, PERIOD.1)))
    }

    /// Refuses new sessions from now on and closes those there are; the reply is that of a Reset.
    pub fn shut_down(&self, now: Option<Time>) -> Action {
        self.table.lock().shut_down = true;
        self.close_all("Step was cancelled because the server is shutting down.", now)
    }

    /// The number of open sessions.
    pub fn num_sessions(&self) -> usize {
        self.table.lock().sessions.len()
    }

    /// What a session keeps; `None` for an unknown handle.
    pub fn session_usage(&self, handle: &str) -> Option<SessionUsage> {
        let session = self.table.lock().sessions.get(handle)?.clone();
        let (programs, signatures) = session.cached();
        Some(SessionUsage {
            programs,
            signatures,
            running_steps: session.running.len(),
            partial_runs: session.partial_runs.len(),
        })
    }

    /// The devices of this task.
    pub fn devices(&self) -> &[DeviceAttributes] {
        &self.attributes
    }

    /// The session of a handle.
    ///
    /// # Errors
    /// ABORTED when there is none: to a client the master has lost its state.
    pub(super) fn find(&self, handle: &str) -> Result<Arc<SessionState>, Status> {
        let found = self.table.lock().sessions.get(handle).cloned();
        found.ok_or_else(|| Status::aborted(self.not_found(handle)))
    }

    /// As [`Master::find`], and counts as use of the session.
    pub(super) fn find_for_use(&self, handle: &str, now: Option<Time>) -> Result<Arc<SessionState>, Status> {
        let session = self.find(handle)?;
        session.running.touch(now)?;
        Ok(session)
    }

    fn not_found(&self, handle: &str) -> String {
        let shown = handle.get(..handle.floor_char_boundary(64)).unwrap_or_default();
        let mut text = format!(
            "Session {} is not found. Possibly, this master has restarted, or the session was closed",
            shown.escape_debug()
        );
        match self.options.session_idle_ms_max {
            0 => text.push('.'),
            limit => text.push_str(&format!(
                ", or it may have been collected because nobody used it for {} seconds.",
                limit.div_ceil(1000)
            )),
        }
        text
    }

    fn create_session(&self, request: CreateSessionRequest, now: Option<Time>) -> Result<Response, Status> {
        check_config(&request.config)?;
        self.check_room(&self.table.lock())?;
        let devices = match request.config.isolate_session_state {
            true => {
                let names: Vec<String> = self.attributes.iter().map(|device| device.name.clone()).collect();
                self.new_devices(&names)
            }
            false => self.shared.clone(),
        };
        let parts = SessionParts {
            handle: format!("{:032x}", self.random()),
            config: request.config,
            devices,
            specs: self.specs.clone(),
            host: self.host.clone(),
            step_id_base: self.random() as u64,
            now,
        };
        let session = Arc::new(SessionState::new(parts, request.graph, &self.options)?);
        let handle = session.handle.clone();
        let mut table = self.table.lock();
        self.check_room(&table)?;
        table.sessions.insert(handle.clone(), session);
        Ok(Response::CreateSession(CreateSessionResponse { session_handle: handle, graph_version: 0 }))
    }

    fn check_room(&self, table: &Table) -> Result<(), Status> {
        if table.shut_down {
            return Err(Status::unavailable("the server is shutting down"));
        }
        if table.sessions.len() >= self.options.sessions_max {
            return Err(Status::resource_exhausted(format_args!(
                "there are {} sessions, as many as there may be",
                table.sessions.len()
            )));
        }
        Ok(())
    }

    fn extend_session(&self, request: ExtendSessionRequest, now: Option<Time>) -> Result<Response, Status> {
        let session = self.find_for_use(&request.session_handle, now)?;
        let new_graph_version = session.extend(request.graph, request.current_graph_version)?;
        Ok(Response::ExtendSession(ExtendSessionResponse { new_graph_version }))
    }

    fn list_devices(&self, request: &ListDevicesRequest) -> Result<Response, Status> {
        let handle = &request.session_handle;
        if !handle.is_empty() && !self.table.lock().sessions.contains_key(handle) {
            return Err(Status::invalid_argument(self.not_found(handle)));
        }
        Ok(Response::ListDevices(ListDevicesResponse {
            local_devices: self.attributes.clone(),
            remote_devices: Vec::new(),
        }))
    }

    fn close_session(&self, request: &CloseSessionRequest, now: Option<Time>) -> Result<Action, Status> {
        let session = self.table.lock().sessions.remove(&request.session_handle);
        let session = session.ok_or_else(|| Status::aborted(self.not_found(&request.session_handle)))?;
        let reason = "Step was cancelled by an explicit call to `Session::Close()`.";
        Ok(self.close(&[session], reason, Response::CloseSession, now))
    }

    fn reset(&self, request: &ResetRequest, now: Option<Time>) -> Result<Action, Status> {
        let filters = parse_filters(&request.device_filters)?;
        for container in &request.containers {
            crate::resource::check_container(container)?;
        }
        let passes = |spec: &DeviceSpec| filters.is_empty() || filters.iter().any(|f| f.is_compatible(spec));
        for (device, _) in self.shared.iter().zip(&*self.specs).filter(|(_, spec)| passes(spec)) {
            device.resources.clear(&request.containers);
        }
        Ok(self.close_all("Step was cancelled because the server was reset.", now))
    }

    fn close_all(&self, reason: &str, now: Option<Time>) -> Action {
        let sessions = core::mem::take(&mut self.table.lock().sessions);
        let sessions: Vec<_> = sessions.into_values().collect();
        self.close(&sessions, reason, Response::Reset, now)
    }

    /// Closes sessions that are out of the table: their steps are to be cancelled, and awaited for a bounded time.
    fn close(&self, sessions: &[Arc<SessionState>], reason: &str, reply: Response, now: Option<Time>) -> Action {
        let mut cancel = Vec::new();
        let mut latches = Vec::new();
        for session in sessions {
            let closing = session.running.close();
            cancel.extend(closing.steps.into_iter().map(|step| (step, Status::cancelled(reason))));
            latches.extend(closing.drained.map(|latch| (latch, None)));
            session.clear();
        }
        if cancel.is_empty() && latches.is_empty() {
            return Action::Reply(Ok(reply));
        }
        let until = now.map(|now| now.plus_millis(self.options.close_ms_max));
        Action::Wait(Box::new(Wait { cancel, until, latches, then: Then::Reply(reply) }))
    }

    fn new_devices(&self, names: &[String]) -> Vec<DeviceEnv> {
        let device = |name: &String| DeviceEnv {
            name: name.as_str().into(),
            resources: Arc::new(ResourceManager::new(name, &self.options.job)),
        };
        names.iter().map(device).collect()
    }

    /// An unpredictable number; on a host without entropy only one that does not repeat.
    pub(super) fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        match self.host.entropy(&mut bytes) {
            true => u128::from_le_bytes(bytes),
            false => (self.counter.fetch_add(1, Ordering::Relaxed) as u128 + 1) << 40,
        }
    }
}

/// What a session keeps at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionUsage {
    /// Cached programs.
    pub programs: usize,
    /// Cached spellings of signatures.
    pub signatures: usize,
    /// Steps that run.
    pub running_steps: usize,
    /// Partial runs that are not finished.
    pub partial_runs: usize,
}

fn check_config(config: &SessionConfig) -> Result<(), Status> {
    parse_filters(&config.device_filters)?;
    let refused = |option: &str| {
        Err(Status::invalid_argument(format_args!(
            "Distributed session does not support session thread pool options: {option}"
        )))
    };
    if config.use_per_session_threads {
        return refused("use_per_session_threads");
    }
    if config.session_inter_op_thread_pools > 0 {
        return refused("session_inter_op_thread_pool");
    }
    Ok(())
}

fn parse_filters(filters: &[String]) -> Result<Vec<DeviceSpec>, Status> {
    let parse = |text: &String| {
        DeviceSpec::parse(text).ok_or_else(|| {
            Status::invalid_argument(format_args!("device filter '{}' is no device name", text.escape_debug()))
        })
    };
    filters.iter().map(parse).collect()
}

#[cfg(test)]
#[path = "master_tests.rs"]
mod tests;
