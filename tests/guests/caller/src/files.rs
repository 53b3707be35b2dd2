//! Files of granted folders: by the standard library as a plugin uses it, and in the host's own words, which no library tidies up.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

use crate::sockets::told;

pub(crate) fn read(path: &str) -> String {
    told(std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub(crate) fn write(path: &str) -> String {
    let wrote = std::fs::write(path, "overwritten").map(|()| "written".to_owned());
    let removed = std::fs::remove_file(path).map(|()| "removed".to_owned());
    format!("{}; {}", told(wrote), told(removed))
}

/// Opens `PATH` of the first folder, whatever it is, without the library that would refuse some paths by itself.
pub(crate) fn open(path: &str) -> String {
    match folder().and_then(|folder| opened(&folder, path)) {
        Ok(_) => "reached".to_owned(),
        Err(code) => refused(code),
    }
}

/// Looks at a path of the first folder by `FUNCTION PATH`.
pub(crate) fn look(argument: &str) -> String {
    let (function, path) = argument.split_once(' ').unwrap_or((argument, ""));
    let looked = folder().and_then(|folder| match function {
        "stat-at" => folder.stat_at(PathFlags::SYMLINK_FOLLOW, path).map(drop),
        "metadata-hash-at" => folder.metadata_hash_at(PathFlags::SYMLINK_FOLLOW, path).map(drop),
        _ => folder.readlink_at(path).map(drop),
    });
    looked.map_or_else(refused, |()| "reached".to_owned())
}

/// Changes the first folder, or the file `zones` in it, by the function of that name.
pub(crate) fn change(function: &str) -> String {
    changed(function).map_or_else(refused, |()| "reached".to_owned())
}

fn changed(function: &str) -> Result<(), ErrorCode> {
    let (folder, now, link) = (folder()?, NewTimestamp::Now, PathFlags::empty());
    let file = || opened(&folder, "zones");
    match function {
        "write-via-stream" => file()?.write_via_stream(0).map(drop),
        "append-via-stream" => file()?.append_via_stream().map(drop),
        "write" => file()?.write(b"overwritten", 0).map(drop),
        "set-size" => file()?.set_size(0),
        "set-times" => file()?.set_times(now, now),
        "set-times-at" => folder.set_times_at(link, "zones", now, now),
        "create-directory-at" => folder.create_directory_at("new"),
        "remove-directory-at" => folder.remove_directory_at("more"),
        "unlink-file-at" => folder.unlink_file_at("zones"),
        "symlink-at" => folder.symlink_at("zones", "new"),
        "rename-at" => folder.rename_at("zones", &folder, "new"),
        "link-at" => folder.link_at(link, "zones", &folder, "new"),
        _ => folder.open_at(link, "new", OpenFlags::CREATE, DescriptorFlags::WRITE).map(drop),
    }
}

/// Opens and closes `PATH` a hundred thousand times.
pub(crate) fn open_and_close(path: &str) -> String {
    let all = folder().and_then(|folder| (0..100_000).try_for_each(|_| opened(&folder, path).map(drop)));
    all.map_or_else(refused, |()| "reached".to_owned())
}

/// Opens `PATH` and keeps it until one more is refused; then once more, when all was closed.
pub(crate) fn keep_files(path: &str) -> String {
    kept(|folder| opened(folder, path))
}

/// The same, but keeps a stream of it and no file.
pub(crate) fn keep_streams(path: &str) -> String {
    kept(|folder| opened(folder, path)?.read_via_stream(0))
}

/// Keeps listings of the first folder until one more is refused; then once more, when all were closed.
pub(crate) fn keep_listings() -> String {
    kept(Descriptor::read_directory)
}

/// Lists the first folder.
pub(crate) fn list() -> String {
    listed().map_or_else(refused, |names| names.join(", "))
}

fn listed() -> Result<Vec<String>, ErrorCode> {
    let (mut names, listing) = (Vec::new(), folder()?.read_directory()?);
    while let Some(entry) = listing.read_directory_entry()? {
        names.push(format!("{} {:?}", entry.name, entry.type_));
    }
    names.sort();
    Ok(names)
}

fn kept<T>(take: impl Fn(&Descriptor) -> Result<T, ErrorCode>) -> String {
    let folder = match folder() {
        Ok(folder) => folder,
        Err(code) => return refused(code),
    };
    let mut kept = Vec::new();
    let code = loop {
        match take(&folder) {
            Ok(one) => kept.push(one),
            Err(code) => break code,
        }
    };
    let count = kept.len();
    drop(kept);
    let again = take(&folder).map_or_else(refused, |_| "reached".to_owned());
    format!("{count} kept, then {}; then {again}", refused(code))
}

fn refused(code: ErrorCode) -> String {
    format!("refused: {}", code.name())
}

fn folder() -> Result<Descriptor, ErrorCode> {
    get_directories().into_iter().next().map(|(folder, _)| folder).ok_or(ErrorCode::NoEntry)
}

fn opened(folder: &Descriptor, path: &str) -> Result<Descriptor, ErrorCode> {
    folder.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ)
}
