//! Which Unix sockets are connected to each other, as the kernel says (`NETLINK_SOCK_DIAG`).
//!
//! A multiplexer's server looks the same whether a person or an agent started it. What an agent cannot have is a client that is
//! attached from a person's own terminal; whether a client belongs to this server is told by the two ends of their socket.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::time::{Duration, Instant};

/// Bytes of one answer that are read at once.
const ANSWER_BYTES: usize = 64 * 1024;
/// Time that the kernel has for the whole list.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const UDIAG_SHOW_PEER: u32 = 4;
const UNIX_DIAG_PEER: u16 = 2;
/// Bytes of the headers of a message, of a socket's row and of an attribute.
const MESSAGE_HEADER: usize = 16;
const ROW_HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;

/// Pairs of connected sockets by inode; none where the kernel does not tell.
pub(super) fn read() -> Option<Vec<(u32, u32)>> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        Some(netlink::SOCK_DIAG),
    )
    .ok()?;
    let mut request: Vec<u8> = Vec::with_capacity(40);
    request.extend(40_u32.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    // Family AF_UNIX, all states, every inode, with the peer of each.
    request.extend([1, 0, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(0_u32.to_ne_bytes());
    request.extend(UDIAG_SHOW_PEER.to_ne_bytes());
    request.extend([0; 8]);
    rustix::net::send(&socket, &request, SendFlags::empty()).ok()?;
    let until = Instant::now() + LIST_TIMEOUT;
    let mut pairs = Vec::new();
    let mut answer = vec![0; ANSWER_BYTES];
    while Instant::now() < until {
        match rustix::net::recv(&socket, &mut answer, RecvFlags::empty()) {
            Ok((length, _)) => {
                if collect(answer.get(..length)?, &mut pairs)? {
                    return Some(pairs);
                }
            }
            Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(1)),
            Err(_) => return None,
        }
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// Reads messages into pairs; gives whether that was the last one, and nothing where a message does not fit.
fn collect(mut bytes: &[u8], pairs: &mut Vec<(u32, u32)>) -> Option<bool> {
    while !bytes.is_empty() {
        let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
        match u16_at(bytes, 4)? {
            NLMSG_DONE => return Some(true),
            NLMSG_ERROR => return None,
            _ => {}
        }
        let message = bytes.get(MESSAGE_HEADER..length)?;
        // A row: family, type, state, padding, inode, cookie; then attributes.
        let inode = u32_at(message, 4)?;
        let mut attributes = message.get(ROW_HEADER..)?;
        while attributes.len() >= ATTRIBUTE_HEADER {
            let size = usize::from(u16_at(attributes, 0)?);
            if size < ATTRIBUTE_HEADER {
                return None;
            }
            if u16_at(attributes, 2)? == UNIX_DIAG_PEER {
                pairs.push((inode, u32_at(attributes, ATTRIBUTE_HEADER)?));
            }
            attributes = attributes.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(false)
}

/// The inodes of the sockets that a process has open.
pub(super) fn sockets_of(pid: i32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| {
            let text = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            text.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_socket_are_found() {
        let (one, two) = std::os::unix::net::UnixStream::pair().unwrap();
        let own = sockets_of(i32::try_from(std::process::id()).unwrap());
        let Some(pairs) = read() else {
            eprintln!("skipped: this kernel does not tell about Unix sockets");
            return;
        };
        assert!(pairs.iter().any(|(a, b)| own.contains(a) && own.contains(b)), "{own:?}");
        drop((one, two));
    }

    #[test]
    fn a_malformed_answer_is_ignored() {
        let mut pairs = Vec::new();
        assert_eq!(collect(&[1, 2, 3], &mut pairs), None);
        assert_eq!(collect(&[255; 16], &mut pairs), None);
        assert!(pairs.is_empty());
    }
}
