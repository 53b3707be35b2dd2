//! Serves the clients of the control socket, on the control thread.
//!
//! It grants nothing: wishes go to the run loop, one at a time and never faster than it can bear, and the loop waits for no client.
//! It has bounds for everything that a client can do: keep silent, say half a line, never stop, never read, come in thousands.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, UCred};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::place::{self, Address};
use super::request::{Answer, Refusal, RefusalCode, Request};
use crate::signals::Asked;

/// Clients that are served at once. A further one is told so and sent away.
pub(super) const CLIENTS_MAX: usize = 64;

/// The longest request. A longer one is told so, and its client sent away.
const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// How long a client may take to say its next request. Then it is told so and sent away.
const REQUEST_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long the run loop may take to come to a wish. Then the client is told so; the wish may still be fulfilled.
const LOOP_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long a client may take to read an answer. Then it is sent away.
const READ_WAIT_MAX: Duration = Duration::from_secs(5);

/// The least time between two wishes that reach the run loop: clients that ask without a pause cost it little.
const WISH_EVERY: Duration = Duration::from_millis(5);

/// How long no connection is taken after the system refused one, such as for a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Its user.
    pub(crate) uid: u32,
    /// Its process, as far as the system can say.
    pub(crate) pid: Option<i32>,
}

impl From<UCred> for Caller {
    fn from(credentials: UCred) -> Self {
        // Zero stands for a process that this one cannot see, as in another container.
        Self { uid: credentials.uid(), pid: credentials.pid().filter(|pid| *pid > 0) }
    }
}

impl Caller {
    /// The socket's file keeps others out; this keeps them out also where somebody has changed that. Root may do anything anyway.
    fn is_allowed(self) -> bool {
        self.uid == place::user() || self.uid == 0
    }
}

/// A request on its way to the run loop, with the seat where its client waits.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) request: Request,
    pub(crate) caller: Caller,
    /// Where it came in.
    pub(crate) address: Address,
    answer: oneshot::Sender<Answer>,
}

impl Wish {
    /// Answers it. Costs the same whether anybody still waits or not.
    pub(crate) fn answer(self, answer: impl Into<Answer>) {
        let _ = self.answer.send(answer.into());
    }
}

/// What every client's task needs.
#[derive(Clone)]
struct Desk {
    address: Address,
    /// Clients that may still come in.
    clients: Arc<Semaphore>,
    /// Answers that may still be under way: one for each client.
    answers: Arc<Semaphore>,
    wishes: mpsc::Sender<Wish>,
}

/// Takes clients in until it is dropped. `answers` has a permit for each client, and one less for each that waits for its answer.
pub(super) async fn serve(
    listener: UnixListener,
    address: Address,
    answers: Arc<Semaphore>,
    asks: mpsc::UnboundedSender<Asked>,
) {
    // As many as clients, so that none ever waits for room.
    let (wishes, passed_on) = mpsc::channel(CLIENTS_MAX);
    tokio::spawn(pass_on(passed_on, asks));
    let desk = Desk { address, clients: Arc::new(Semaphore::new(CLIENTS_MAX)), answers, wishes };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => receive(stream, &desk),
            Err(error) => {
                debug!(%error, "a client of the control socket could not be taken in");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Passes wishes on to the run loop, one at a time.
async fn pass_on(mut wishes: mpsc::Receiver<Wish>, asks: mpsc::UnboundedSender<Asked>) {
    while let Some(wish) = wishes.recv().await {
        if asks.send(Asked::Wish(wish)).is_err() {
            return;
        }
        sleep(WISH_EVERY).await;
    }
}

/// Gives a client a task of its own, or sends it away.
fn receive(stream: UnixStream, desk: &Desk) {
    let Ok(credentials) = stream.peer_cred() else { return };
    let caller = Caller::from(credentials);
    if !caller.is_allowed() {
        warn!(uid = caller.uid, pid = caller.pid, "refused a client of the control socket that runs as another user");
        let text =
            format!("this host listens to the user {} and to root, and you are the user {}", place::user(), caller.uid);
        return send_away(stream, Refusal::new(RefusalCode::NotAllowed, text));
    }
    let Ok(place) = Arc::clone(&desk.clients).try_acquire_owned() else {
        debug!(uid = caller.uid, pid = caller.pid, "sent a client of the control socket away: too many");
        let text = format!("{CLIENTS_MAX} clients are being served; try again");
        return send_away(stream, Refusal::new(RefusalCode::TooManyClients, text));
    };
    let desk = desk.clone();
    tokio::spawn(async move {
        if let Err(error) = attend(stream, caller, &desk).await {
            debug!(uid = caller.uid, pid = caller.pid, %error, "a client of the control socket went away");
        }
        drop(place);
    });
}

/// Tells a client why it is not served. What its queue does not take at once it does not hear.
fn send_away(stream: UnixStream, refusal: Refusal) {
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write_all(Answer::from(refusal).line().as_bytes());
    }
}

/// Serves one client until it goes, or says something that is no request.
async fn attend(stream: UnixStream, caller: Caller, desk: &Desk) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let request = match timeout(REQUEST_WAIT_MAX, read(&mut reader)).await {
            Ok(read) => read?,
            Err(_) => Err(Refusal::new(
                RefusalCode::TooSlow,
                format!("no request within {} s; connect again", REQUEST_WAIT_MAX.as_secs()),
            )),
        };
        let request = match request {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(refusal) => return write(&mut writer, refusal.into()).await,
        };
        // Held until it is written: the end of the host waits a moment for those. There is one for each client.
        let under_way = desk.answers.acquire().await.map_err(io::Error::other)?;
        let answer = ask(request, caller, desk).await;
        write(&mut writer, answer).await?;
        drop(under_way);
    }
}

/// Reads one request. `None`: the client has said all.
async fn read(reader: &mut BufReader<OwnedReadHalf>) -> io::Result<Result<Option<Request>, Refusal>> {
    let mut line = Vec::new();
    // One byte more than allowed is enough to see that it is too long.
    reader.take(REQUEST_BYTES_MAX + 1).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(Ok(None));
    }
    if line.pop() == Some(b'\n') {
        return Ok(Request::parse(&line).map(Some));
    }
    let refusal = if line.len() as u64 >= REQUEST_BYTES_MAX {
        Refusal::new(RefusalCode::TooLong, format!("a request has {REQUEST_BYTES_MAX} bytes at the most"))
    } else {
        Refusal::new(RefusalCode::HalfLine, "the request has no end of line")
    };
    Ok(Err(refusal))
}

/// Puts a wish to the run loop and waits for its answer.
async fn ask(request: Request, caller: Caller, desk: &Desk) -> Answer {
    let (answer, answered) = oneshot::channel();
    let wish = Wish { request, caller, address: desk.address.clone(), answer };
    let ending = || Refusal::new(RefusalCode::Ending, "the host has ended");
    if desk.wishes.send(wish).await.is_err() {
        return ending().into();
    }
    match timeout(LOOP_WAIT_MAX, answered).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => ending().into(),
        Err(_) => {
            let waited = LOOP_WAIT_MAX.as_secs();
            let text = format!("the host did not come to it within {waited} s; it may still do it");
            Refusal::new(RefusalCode::Busy, text).into()
        }
    }
}

/// Writes an answer, or gives up on a client that does not read.
async fn write(writer: &mut OwnedWriteHalf, answer: Answer) -> io::Result<()> {
    let line = answer.line();
    timeout(READ_WAIT_MAX, writer.write_all(line.as_bytes()))
        .await
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "it does not read its answer")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hosts_own_user_and_root_are_heard() {
        let own = place::user();
        for (uid, heard) in [(own, true), (0, true), (own + 1, false), (u32::MAX, false)] {
            assert_eq!(Caller { uid, pid: None }.is_allowed(), heard, "{uid}");
        }
    }
}
