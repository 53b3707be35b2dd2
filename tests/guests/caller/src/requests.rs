//! HTTP requests, in the host's own words: no library tidies up what is sent.

use gristmill_plugin::bindings::plugin::gristmill::plugin::types::KafkaRecord;
use wasip2::http::outgoing_handler::{FutureIncomingResponse, handle};
use wasip2::http::types::{
    ErrorCode, Fields, HeaderError, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
};
use wasip2::io::streams::StreamError;

/// Sends `METHOD URL` with the record's headers, and tells status, headers of interest, and body.
pub(crate) fn send(argument: &str, record: &KafkaRecord, body: &[u8]) -> String {
    let headers = record.headers.iter().map(|header| (header.key.clone(), header.value.clone().unwrap_or_default()));
    match begin(argument, headers.collect(), body).and_then(answer) {
        Ok(told) => told,
        Err(error) => format!("error: {error}"),
    }
}

/// Begins `COUNT METHOD URL` and keeps them all open; tells how many could be begun and answered.
pub(crate) fn hold_open(argument: &str) -> String {
    let (count, request) = argument.split_once(' ').unwrap_or(("1", argument));
    let begun: Vec<_> = (0..count.parse().unwrap_or(1)).map(|_| begin(request, Vec::new(), b"")).collect();
    let answers: Vec<_> = begun.into_iter().map(|future| future.and_then(response)).collect();
    let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.is_ok());
    let first = bad.first().and_then(|answer| answer.as_ref().err()).cloned().unwrap_or_default();
    format!("{} answered, {} not: {first}", good.len(), bad.len())
}

fn begin(argument: &str, headers: Vec<(String, Vec<u8>)>, body: &[u8]) -> Result<FutureIncomingResponse, String> {
    let (method, url) = argument.split_once(' ').unwrap_or(("GET", argument));
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let fields = Fields::from_list(&headers).map_err(|error: HeaderError| format!("headers: {error:?}"))?;
    let request = OutgoingRequest::new(fields);
    let refused = |what: &'static str| move |()| format!("the host refuses the {what}");
    request.set_method(&named(method)).map_err(refused("method"))?;
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    request.set_scheme(Some(&scheme)).map_err(refused("scheme"))?;
    request.set_authority(Some(authority)).map_err(refused("authority"))?;
    request.set_path_with_query(Some(if path.is_empty() { "/" } else { path })).map_err(refused("path"))?;
    let outgoing = request.body().map_err(|()| "no body")?;
    let future = handle(request, None).map_err(|error| shown(&error))?;
    let stream = outgoing.write().map_err(|()| "no stream")?;
    for piece in body.chunks(4096) {
        // A server that refuses early hears no more; what it said is the answer.
        if stream.blocking_write_and_flush(piece).is_err() {
            break;
        }
    }
    drop(stream);
    OutgoingBody::finish(outgoing, None).map_err(|error| shown(&error))?;
    Ok(future)
}

fn named(method: &str) -> Method {
    match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "CONNECT" => Method::Connect,
        other => Method::Other(other.to_owned()),
    }
}

fn response(future: FutureIncomingResponse) -> Result<IncomingResponse, String> {
    future.subscribe().block();
    let ready = future.get().ok_or("not ready")?.map_err(|()| "taken already")?;
    ready.map_err(|error| shown(&error))
}

fn answer(future: FutureIncomingResponse) -> Result<String, String> {
    let response = response(future)?;
    let status = response.status();
    let headers = response.headers();
    let mut told = status.to_string();
    for name in ["retry-after", "location"] {
        for value in headers.get(name) {
            told += &format!(" {name}={}", String::from_utf8_lossy(&value));
        }
    }
    drop(headers);
    let body = read(&response.consume().map_err(|()| "no body")?)?;
    Ok(format!("{told} {}", String::from_utf8_lossy(&body)))
}

/// Reads a body whole, and not more of it than a test needs to see.
fn read(body: &IncomingBody) -> Result<Vec<u8>, String> {
    let stream = body.stream().map_err(|()| "no stream")?;
    let mut bytes = Vec::new();
    let mut length = 0_usize;
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(piece) => {
                length += piece.len();
                bytes.extend(piece.into_iter().take(500_usize.saturating_sub(bytes.len())));
            }
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(format!("after {length} bytes: {}", error.to_debug_string()));
            }
        }
    }
}

fn shown(error: &ErrorCode) -> String {
    format!("{error:?}")
}
