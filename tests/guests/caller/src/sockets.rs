//! Connections, names and clocks, by the standard library as a plugin uses it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::SystemTime;

/// Connects to `host:port`, sends the value, and tells what came back until the other side closed or the line ended.
pub(crate) fn talk(address: &str, value: &[u8]) -> String {
    told(TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(value)?;
        let mut reply = [0; 256];
        let length = stream.read(&mut reply)?;
        Ok(String::from_utf8_lossy(&reply[..length]).into_owned())
    }))
}

/// Looks a name up and tells its addresses.
pub(crate) fn look_up(name: &str) -> String {
    told(
        (name, 80)
            .to_socket_addrs()
            .map(|addresses| addresses.map(|address| address.ip().to_string()).collect::<Vec<_>>().join(" ")),
    )
}

pub(crate) fn listen(address: &str) -> String {
    told(TcpListener::bind(address).map(|_| "listening".to_owned()))
}

pub(crate) fn udp(address: &str, value: &[u8]) -> String {
    told(
        UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(value, address)).map(|length| length.to_string()),
    )
}

/// The time of day in milliseconds, and a number from a map's random seed.
pub(crate) fn now() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{} {}", since.as_millis(), RandomState::new().hash_one(1))
}

pub(crate) fn told(result: std::io::Result<String>) -> String {
    match result {
        Ok(value) => format!("reached: {value}"),
        Err(error) => format!("refused: {error}"),
    }
}
