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
use wasmtime::component::{ComponentNamedList, Lift, Linker, LinkerInstance, Lower, Resource, ResourceType};
use wasmtime_wasi::filesystem::{self, Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, DirectoryEntry, ErrorCode, HostDescriptor as _, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynOutputStream, FsError, FsResult};
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

/// Tells that a function would write.
fn writes(state: &State, function: &str) -> FsError {
    let what =
        format!("{function} in a granted folder, to write there: plugins read files and write none; nothing grants it");
    denied(state.denials(), ErrorCode::NotPermitted, &what)
}

/// Tells that a function got a path that leads out of its folder.
fn leads_out(state: &State, function: &str) -> FsError {
    let what = format!(
        "{function} with a path that leads out of its granted folder: another folder is granted by itself, with \
         plugin.grants.files = [{{ path = \"…\", as = \"…\" }}]"
    );
    denied(state.denials(), ErrorCode::NotPermitted, &what)
}

/// Tells where a path led out of its folder. Looking is always granted, so that wasmtime permits everything else.
fn within<T>(state: &State, function: &str, looked: FsResult<T>) -> FsResult<T> {
    match looked {
        Err(error) if matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted)) => Err(leads_out(state, function)),
        looked => looked,
    }
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
        return Err(writes(state, "open-at"));
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
            return Err(leads_out(state, "open-at"));
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

/// Refuses a function that would write, whatever it is told to.
fn refuse<P, T>(types: &mut LinkerInstance<'_, State>, function: &'static str) -> wasmtime::Result<()>
where
    P: ComponentNamedList + Lift + 'static,
    T: Lower + Send + Sync + 'static,
{
    types.func_wrap(&format!("[method]descriptor.{function}"), move |mut store: Store<'_>, _: P| {
        answer::<T>(Err(writes(store.data_mut(), function)))
    })
}

/// Everything that would change a file or a folder.
fn refuse_writing(types: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    type File = Resource<Descriptor>;
    refuse::<(File, u64), Resource<DynOutputStream>>(types, "write-via-stream")?;
    refuse::<(File,), Resource<DynOutputStream>>(types, "append-via-stream")?;
    refuse::<(File, Vec<u8>, u64), u64>(types, "write")?;
    refuse::<(File, u64), ()>(types, "set-size")?;
    refuse::<(File, NewTimestamp, NewTimestamp), ()>(types, "set-times")?;
    refuse::<(File, PathFlags, String, NewTimestamp, NewTimestamp), ()>(types, "set-times-at")?;
    refuse::<(File, String), ()>(types, "create-directory-at")?;
    refuse::<(File, String), ()>(types, "remove-directory-at")?;
    refuse::<(File, String), ()>(types, "unlink-file-at")?;
    refuse::<(File, String, String), ()>(types, "symlink-at")?;
    refuse::<(File, String, File, String), ()>(types, "rename-at")?;
    refuse::<(File, PathFlags, String, File, String), ()>(types, "link-at")
}

/// What looks at a path is left to wasmtime, which opens nothing for it that could wait, and is told where it leads out.
fn watch_looking(types: &mut LinkerInstance<'_, State>) -> wasmtime::Result<()> {
    type At = (Resource<Descriptor>, PathFlags, String);
    types.func_wrap_async("[method]descriptor.stat-at", |mut store: Store<'_>, (folder, how, path): At| {
        Box::new(async move {
            let state = store.data_mut();
            let looked = state.filesystem().stat_at(folder, how, path).await;
            answer(within(state, "stat-at", looked))
        })
    })?;
    types.func_wrap_async("[method]descriptor.metadata-hash-at", |mut store: Store<'_>, (folder, how, path): At| {
        Box::new(async move {
            let state = store.data_mut();
            let looked = state.filesystem().metadata_hash_at(folder, how, path).await;
            answer(within(state, "metadata-hash-at", looked))
        })
    })?;
    types.func_wrap_async(
        "[method]descriptor.readlink-at",
        |mut store: Store<'_>, (folder, path): (Resource<Descriptor>, String)| {
            Box::new(async move {
                let state = store.data_mut();
                let looked = state.filesystem().readlink_at(folder, path).await;
                answer(within(state, "readlink-at", looked))
            })
        },
    )
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
    refuse_writing(&mut types)?;
    watch_looking(&mut types)?;
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
