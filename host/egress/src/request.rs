//! A guest's request, made into one that is sent: every part of it is read, judged and written anew, so that nothing which a guest wrote
//! reaches a connection in another place than its own.
//!
//! It knows no connection.

use std::error::Error;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Request, Uri, Version};
use http_body::Body;

use crate::body::{self, Ended, OutgoingBody};
use crate::denied::Asked;
use crate::destination::{HttpTarget, Problem};
use crate::egress::Shared;
use crate::error::SendError;
use crate::header;
use crate::host::HostProblem;
use crate::limits::Limits;

/// The longest path and query.
const PATH_MAX: usize = 16 * 1024;

/// The first makes a tunnel of the connection; the others have the server send back what the host added. In any case of letters, since
/// not every server minds it.
const METHODS_OF_NOBODY: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// The longest method; all that have a name are shorter.
const METHOD_MAX: usize = 32;

/// A request that may be sent.
pub(crate) struct Prepared {
    pub(crate) target: HttpTarget,
    pub(crate) request: Request<OutgoingBody>,
    pub(crate) ended: Ended,
}

/// Judges a request and writes it anew.
///
/// # Errors
///
/// What is not granted, and what is not a guest's to say.
pub(crate) fn prepare<B>(shared: &Shared, request: Request<B>, limits: &Limits) -> Result<Prepared, SendError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let method = parts.method.as_str();
    if METHODS_OF_NOBODY.iter().any(|theirs| theirs.eq_ignore_ascii_case(method)) || method.len() > METHOD_MAX {
        return Err(SendError::Method(parts.method));
    }
    let target = target_of(&parts.uri)?;
    let Some(grant) = shared.rules.grant_for(&target) else {
        return Err(shared.not_granted(Asked::Http(target)).into());
    };
    let path = path_of(&parts.uri)?;
    let (mut headers, promised) = header::outgoing(parts.headers, grant.headers())?;
    let ended = Ended::default();
    let body = body::outgoing(body, limits.request_bytes, promised, ended.clone())?;
    let host = HeaderValue::try_from(target.authority()).map_err(|error| SendError::Host(error.to_string()))?;
    headers.insert(HOST, host);
    if let Some(promised) = promised {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(promised));
    }
    // Extensions stay behind: some of them change how a message is written.
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.version_mut() = Version::HTTP_11;
    *request.uri_mut() = Uri::from(path);
    *request.headers_mut() = headers;
    Ok(Prepared { target, request, ended })
}

fn target_of(uri: &Uri) -> Result<HttpTarget, Problem> {
    let scheme = uri.scheme_str().ok_or(Problem::NoScheme)?;
    let authority = uri.authority().ok_or(Problem::Host(HostProblem::NoHost))?;
    HttpTarget::parse(scheme, authority.as_str())
}

/// The path and query, in the form that is sent to a server and not to a proxy.
fn path_of(uri: &Uri) -> Result<PathAndQuery, SendError> {
    let failed = || SendError::Path(PATH_MAX);
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    // A query may stand directly behind the authority of a URL; a request's line has a path before it.
    let path = if path.starts_with('?') { format!("/{path}") } else { path.to_owned() };
    if !path.starts_with('/') || path.len() > PATH_MAX || !path.bytes().all(|c| c.is_ascii_graphic()) {
        return Err(failed());
    }
    PathAndQuery::try_from(path).map_err(|_| failed())
}
