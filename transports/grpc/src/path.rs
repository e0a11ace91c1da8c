//! Paths of gRPC to what answers them.

use runstep::service::Method;

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Master(Method),
    HealthCheck,
    HealthWatch,
}

/// The services that have the master's methods: as stock clients call it, and as the published definition has it.
pub(crate) const MASTERS: [&str; 2] = ["tensorflow.MasterService", "tensorflow.grpc.MasterService"];
pub(crate) const HEALTH: &str = "grpc.health.v1.Health";

/// What a path names, if anything here.
pub(crate) fn route(path: &str) -> Option<Route> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    if MASTERS.contains(&service) {
        return Method::ALL.into_iter().find(|known| name(*known) == method).map(Route::Master);
    }
    match (service, method) {
        (HEALTH, "Check") => Some(Route::HealthCheck),
        (HEALTH, "Watch") => Some(Route::HealthWatch),
        _ => None,
    }
}

/// The path of a method, as stock servers have it.
pub(crate) fn path(method: Method) -> String {
    format!("/{}/{}", MASTERS[0], name(method))
}

fn name(method: Method) -> &'static str {
    match method {
        Method::CreateSession => "CreateSession",
        Method::ExtendSession => "ExtendSession",
        Method::PartialRunSetup => "PartialRunSetup",
        Method::RunStep => "RunStep",
        Method::CloseSession => "CloseSession",
        Method::ListDevices => "ListDevices",
        Method::Reset => "Reset",
        Method::MakeCallable => "MakeCallable",
        Method::RunCallable => "RunCallable",
        Method::ReleaseCallable => "ReleaseCallable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every method under both services, and nothing else.
    #[test]
    fn routes() {
        for method in Method::ALL {
            let path = path(method);
            assert_eq!(route(&path), Some(Route::Master(method)));
            let published = path.replace("tensorflow.", "tensorflow.grpc.");
            assert_eq!(route(&published), Some(Route::Master(method)));
        }
        assert_eq!(route("/grpc.health.v1.Health/Check"), Some(Route::HealthCheck));
        for path in [
            "",
            "/",
            "/tensorflow.MasterService",
            "/tensorflow.MasterService/",
            "tensorflow.MasterService/RunStep",
            "/tensorflow.MasterService/runstep",
            "/tensorflow.MasterService/RunStep/",
            "/x.MasterService/RunStep",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
    }
}
