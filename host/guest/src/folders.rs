//! What an instance does with granted folders: files and listings are opened here, so many at once, and whatever nobody granted is
//! refused and told.
//!
//! wasmtime opens what it finds and waits for it, a pipe for ever, and counts nothing; so what opens is ours, in the place of its own.
//! What is open is read by wasmtime. Which folders there are is decided in `files`.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::vec;

use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};
use rustix::io::Errno;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::filesystem::{self, Descriptor};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, DirectoryEntry, ErrorCode, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi::runtime::spawn_blocking;
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::denials::Denials;
use crate::files::{ENTRIES_MAX, is_dots, open_beneath};
use crate::guest::State;
use crate::stdio::escape;
use crate::words::shortened;

/// The interfaces, in the version that wasmtime's own WASI has; guests of every patch of 0.2 find them.
const TYPES: &str = "wasi:filesystem/types@0.2.12";
const PREOPENS: &str = "wasi:filesystem/preopens@0.2.12";

/// So many files and folders of an instance may be open at once. Each is a file of the host's process, which has perhaps a thousand
/// for all. A guest that wants more is told that its quota is used up.
const OPEN_MAX: usize = 64;

/// So many listings of an instance may be open at once, with up to [`ENTRIES_MAX`] names each. One more is refused in the same way.
const LISTINGS_MAX: usize = 8;

/// How much of a path is told.
const PATH_SHOWN_MAX: usize = 200;

const WRITES: &str = "writing in a granted folder: plugins read files and write none; nothing grants it";
const LEADS_OUT: &str = "a path that leads out of the granted folder: another folder is granted by itself, with \
                         plugin.grants.files = [{ path = \"…\", as = \"…\" }]";

/// What one instance has open.
#[derive(Default)]
pub(crate) struct OpenFiles(Vec<Weak<File>>);

impl OpenFiles {
    /// Counts what is open. A stream keeps its file open when the descriptor is gone, and so does a read that is under way.
    fn are_too_many(&mut self) -> bool {
        self.0.retain(|file| file.strong_count() > 0);
        self.0.len() >= OPEN_MAX
    }
}

/// The names in a folder that were not asked for yet.
struct Listing(vec::IntoIter<Result<DirectoryEntry, ErrorCode>>);

type Store<'s> = StoreContextMut<'s, State>;

fn folder_of(state: &mut State, descriptor: &Resource<Descriptor>) -> FsResult<Arc<File>> {
    match state.table().get(descriptor)? {
        Descriptor::Dir(folder) => Ok(Arc::clone(&folder.dir)),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

/// Tells what was refused, and gives what the guest hears of it.
fn denied(denials: &Denials, code: ErrorCode, what: &str) -> FsError {
    denials.note(what);
    code.into()
}

/// What the functions of an interface return: an error of the guest's own is none of the call.
fn answer<T>(result: FsResult<T>) -> wasmtime::Result<(Result<T, ErrorCode>,)> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

type OpenAt = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);

async fn open_at(state: &mut State, (folder, how, path, open, flags): OpenAt) -> FsResult<Resource<Descriptor>> {
    let folder = folder_of(state, &folder)?;
    if open.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) || flags.contains(DescriptorFlags::WRITE) {
        return Err(denied(state.denials(), ErrorCode::NotPermitted, WRITES));
    }
    let syncs = DescriptorFlags::FILE_INTEGRITY_SYNC | DescriptorFlags::DATA_INTEGRITY_SYNC;
    if flags.intersects(syncs | DescriptorFlags::REQUESTED_WRITE_SYNC) {
        return Err(ErrorCode::Unsupported.into());
    }
    if state.open_files().are_too_many() {
        let what = format!("more than {OPEN_MAX} files and folders open at once: nothing grants more");
        return Err(denied(state.denials(), ErrorCode::Quota, &what));
    }
    let mut wanted = OFlags::empty();
    wanted.set(OFlags::DIRECTORY, open.contains(OpenFlags::DIRECTORY));
    wanted.set(OFlags::NOFOLLOW, !how.contains(PathFlags::SYMLINK_FOLLOW));
    // What lies at a path may be another thing a moment later, so what was opened is looked at, and not the path.
    let opened = spawn_blocking(move || -> io::Result<(File, Metadata, String)> {
        let file = open_beneath(&folder, Path::new(&path), wanted)?;
        let what = file.metadata()?;
        Ok((file, what, path))
    });
    let (file, what, path) = match opened.await {
        Ok(opened) => opened,
        Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => {
            return Err(denied(state.denials(), ErrorCode::NotPermitted, LEADS_OUT));
        }
        Err(error) => return Err(error.into()),
    };
    let (descriptor, file) = if what.is_dir() {
        let dir = filesystem::Dir::new(file, FsPerms::ReadOnly, OpenMode::READ, false);
        (Descriptor::Dir(dir.clone()), dir.dir)
    } else if what.is_file() {
        let file = filesystem::File::new(file, FsPerms::ReadOnly, OpenMode::READ, false);
        (Descriptor::File(file.clone()), file.file)
    } else {
        let path = shortened(&escape(path.as_bytes()), PATH_SHOWN_MAX);
        let what = format!("{path} is neither file nor folder: take it out of what plugin.grants.files grants");
        return Err(denied(state.denials(), ErrorCode::NotPermitted, &what));
    };
    state.open_files().0.push(Arc::downgrade(&file));
    Ok(state.table().push(descriptor)?)
}

async fn read_directory(state: &mut State, (folder,): (Resource<Descriptor>,)) -> FsResult<Resource<Listing>> {
    let folder = folder_of(state, &folder)?;
    if state.table().iter_mut().filter(|entry| entry.is::<Listing>()).count() >= LISTINGS_MAX {
        let what = format!("more than {LISTINGS_MAX} listings of folders at once: nothing grants more");
        return Err(denied(state.denials(), ErrorCode::Quota, &what));
    }
    let Some(names) = spawn_blocking(move || names(&folder)).await? else {
        let what = format!("the listing of a folder with more than {ENTRIES_MAX} names: grant a smaller one");
        return Err(denied(state.denials(), ErrorCode::Quota, &what));
    };
    Ok(state.table().push(Listing(names.into_iter()))?)
}

/// All names in a folder. `None`: there are more than anybody may grant.
fn names(folder: &File) -> io::Result<Option<Vec<Result<DirectoryEntry, ErrorCode>>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_dots(name.to_bytes()) {
            continue;
        }
        if names.len() == ENTRIES_MAX {
            return Ok(None);
        }
        let kind = match entry.file_type() {
            // Not every file system says it with the name.
            FileType::Unknown => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |what| FileType::from_raw_mode(what.st_mode)),
            kind => kind,
        };
        let name = name.to_str().map_err(|_| ErrorCode::IllegalByteSequence);
        names.push(name.map(|name| DirectoryEntry { type_: type_of(kind), name: name.to_owned() }));
    }
    Ok(Some(names))
}

fn type_of(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}

/// Puts our own in the place of what wasmtime has.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(PREOPENS)?.func_wrap("get-directories", |mut store: Store<'_>, (): ()| {
        let state = store.data_mut();
        let mut given = Vec::new();
        for folder in state.folders().to_vec() {
            given.push((state.table().push(Descriptor::Dir(folder.dir))?, folder.mount));
        }
        Ok((given,))
    })?;
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async("[method]descriptor.open-at", |mut store: Store<'_>, asked: OpenAt| {
        Box::new(async move { answer(open_at(store.data_mut(), asked).await) })
    })?;
    types.resource("directory-entry-stream", ResourceType::host::<Listing>(), |mut store: Store<'_>, rep| {
        store.data_mut().table().delete(Resource::<Listing>::new_own(rep))?;
        Ok(())
    })?;
    types.func_wrap_async("[method]descriptor.read-directory", |mut store: Store<'_>, asked| {
        Box::new(async move { answer(read_directory(store.data_mut(), asked).await) })
    })?;
    types.func_wrap(
        "[method]directory-entry-stream.read-directory-entry",
        |mut store: Store<'_>, (listing,): (Resource<Listing>,)| {
            Ok((store.data_mut().table().get_mut(&listing)?.0.next().transpose(),))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}
