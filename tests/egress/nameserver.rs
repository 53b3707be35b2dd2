//! A name server whose answers change, as the resolver of a system asks it: over UDP, for IPv4 and IPv6 addresses.
//!
//! It knows no other type of question, and nobody's cache: answers have no time to live.

use std::collections::HashMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;

/// What one name is answered with.
struct Story {
    /// One answer after the other; the last one stays.
    answers: Vec<Vec<IpAddr>>,
    /// How often its IPv4 addresses were asked for, which is once for each look-up and before the IPv6 ones.
    asked: usize,
}

impl Story {
    fn answer(&mut self, kind: u16) -> Vec<IpAddr> {
        self.asked += usize::from(kind == TYPE_A);
        let at = self.asked.max(1).min(self.answers.len()) - 1;
        let of_kind = |address: &IpAddr| if kind == TYPE_A { address.is_ipv4() } else { address.is_ipv6() };
        self.answers[at].iter().copied().filter(of_kind).collect()
    }
}

/// A name server at port 53 of a loopback address.
pub(crate) struct NameServer(Arc<Mutex<HashMap<String, Story>>>);

impl NameServer {
    /// Answers for these names, and says of all others that they do not exist.
    pub(crate) fn start(address: &str, names: &[(&str, &[&[&str]])]) -> Self {
        let socket = UdpSocket::bind((address, 53)).unwrap();
        let story = |answers: &[&[&str]]| Story {
            answers: answers.iter().map(|answer| answer.iter().map(|text| text.parse().unwrap()).collect()).collect(),
            asked: 0,
        };
        let names = names.iter().map(|(name, answers)| ((*name).to_owned(), story(answers))).collect();
        let stories = Arc::new(Mutex::new(names));
        let told = Arc::clone(&stories);
        thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                if let Some(answer) = answer(&question[..length], &mut told.lock().unwrap()) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        Self(stories)
    }

    /// How often this name was looked up.
    pub(crate) fn look_ups(&self, name: &str) -> usize {
        self.0.lock().unwrap()[name].asked
    }
}

/// The answer to a question; none to what is no question (RFC 1035, section 4).
fn answer(message: &[u8], stories: &mut HashMap<String, Story>) -> Option<Vec<u8>> {
    let (name, end) = name(message)?;
    let question = message.get(12..end + 4)?;
    let kind = u16::from_be_bytes(message.get(end..end + 2)?.try_into().ok()?);
    let story = stories.get_mut(&name);
    // A response, with recursion; 3: no such name.
    let flags: u16 = 0x8180 | if story.is_some() { 0 } else { 3 };
    let addresses = match story {
        Some(story) if kind == TYPE_A || kind == TYPE_AAAA => story.answer(kind),
        _ => Vec::new(),
    };
    let mut answer = message[..2].to_vec();
    answer.extend(flags.to_be_bytes());
    for count in [1, u16::try_from(addresses.len()).ok()?, 0, 0] {
        answer.extend(count.to_be_bytes());
    }
    answer.extend(question);
    for address in addresses {
        let bytes = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        // The name of the question, its type, the Internet, no time to live, so many bytes.
        for word in [0xC00C, kind, 1, 0, 0, u16::try_from(bytes.len()).ok()?] {
            answer.extend(word.to_be_bytes());
        }
        answer.extend(bytes);
    }
    Some(answer)
}

/// The name that a message asks for, and where it ends.
fn name(message: &[u8]) -> Option<(String, usize)> {
    let (mut labels, mut at) = (Vec::new(), 12);
    loop {
        let length = usize::from(*message.get(at)?);
        let label = message.get(at + 1..at + 1 + length)?;
        at += 1 + length;
        if label.is_empty() {
            return Some((labels.join("."), at));
        }
        labels.push(String::from_utf8_lossy(label).to_lowercase());
    }
}
