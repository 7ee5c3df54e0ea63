//! A file system in a file: made, mounted, cut off as if the power had failed, and mounted again.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_process::command;
use tempfile::TempDir;

use crate::child::output;
use crate::sys;

/// How large the file system is.
const IMAGE_BYTES: u64 = 64 << 20;
/// How long a loop device may take to let go of its file after the last user is gone.
const DETACH_WAIT: Duration = Duration::from_secs(10);
/// How often to look whether it has.
const DETACH_POLL: Duration = Duration::from_millis(5);

/// How the file system is mounted. It commits its journal only when asked and flushes nothing on a rename, so that what
/// survives is what was synced and not what time or a heuristic saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Data reaches the disk before the journal names it.
    Ordered,
    /// Data reaches the disk at any time.
    Writeback,
}

impl Order {
    fn options(self) -> &'static str {
        match self {
            Self::Ordered => "commit=600,noauto_da_alloc,data=ordered",
            Self::Writeback => "commit=600,noauto_da_alloc,data=writeback",
        }
    }
}

/// The file system. With this value it is unmounted, detached and removed, whatever happened before.
#[derive(Debug)]
pub(super) struct Disk {
    folder: TempDir,
    order: Order,
    mounted: bool,
}

impl Disk {
    /// Makes and mounts an empty file system.
    pub(super) fn make(order: Order) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot make an image: {error}");
        let folder = tempfile::Builder::new()
            .prefix("ralph-power-")
            .tempdir()
            .map_err(failed)?;
        let disk = Self {
            folder,
            order,
            mounted: false,
        };
        std::fs::create_dir(disk.mount_point()).map_err(failed)?;
        let image = File::create(disk.image()).map_err(failed)?;
        image.set_len(IMAGE_BYTES).map_err(failed)?;
        output(command("mkfs.ext4").args(["-q", "-F"]).arg(disk.image()))?;
        disk.mount()
    }

    /// Where it is mounted.
    pub(super) fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    /// The file whose shutdown is to be asked for. It is opened beforehand, so that the cut comes at its moment.
    pub(super) fn switch(&self) -> Result<Switch, String> {
        let file = File::open(self.mount_point());
        file.map(Switch)
            .map_err(|error| format!("cannot open the mount point: {error}"))
    }

    /// Mounts it again after a cut. It is the image that is read then, and not what the kernel still remembers: the old
    /// mount and its device must be gone.
    pub(super) fn mount_again(mut self) -> Result<Self, String> {
        self.unmount()?;
        self.mount()
    }

    fn mount(mut self) -> Result<Self, String> {
        let device = output(command("losetup").args(["--find", "--show"]).arg(self.image()))?;
        let mounted = output(
            command("mount")
                .args(["-t", "ext4", "-o", self.order.options(), &device])
                .arg(self.mount_point()),
        );
        self.mounted = mounted.is_ok();
        // The mount keeps the device for as long as it stands, and then the kernel detaches it: also if this process is
        // killed, since the mount is in a namespace of its own.
        output(command("losetup").args(["-d", &device]))?;
        mounted.map(|_| self)
    }

    fn unmount(&mut self) -> Result<(), String> {
        if self.mounted {
            output(command("umount").arg(self.mount_point()))?;
            self.mounted = false;
        }
        let begin = Instant::now();
        loop {
            let users = output(command("losetup").arg("-j").arg(self.image()))?;
            if users.is_empty() {
                return Ok(());
            }
            if begin.elapsed() > DETACH_WAIT {
                return Err(format!("the image is still attached: {users}"));
            }
            std::thread::sleep(DETACH_POLL);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.unmount().is_err() && self.mounted {
            // Somebody still uses it; then it goes with its last user.
            drop(output(command("umount").arg("--lazy").arg(self.mount_point())));
        }
    }
}

/// What cuts a file system off.
#[derive(Debug)]
pub(super) struct Switch(File);

impl Switch {
    /// Cuts it off. The file is closed too, so that nothing keeps the dead mount.
    pub(super) fn cut(self) -> Result<(), String> {
        sys::shut_down(&self.0).map_err(|error| format!("the file system cannot be shut down: {error}"))
    }
}

/// Tries everything that a cut needs; says what is missing.
pub(super) fn probe() -> Result<(), String> {
    if !sys::is_root() {
        return Err("it needs root".to_owned());
    }
    for program in ["mkfs.ext4", "losetup", "mount", "umount"] {
        if !crate::child::is_installed(program) {
            return Err(format!("{program} is not installed"));
        }
    }
    if !Path::new("/dev/loop-control").exists() {
        return Err("there are no loop devices".to_owned());
    }
    sys::leave_mount_namespace().map_err(|error| format!("it cannot have mounts of its own: {error}"))?;
    output(command("mount").args(["--make-rprivate", "/"]))?;
    let disk = Disk::make(Order::Ordered)?;
    disk.switch()?.cut()?;
    disk.mount_again().map(drop)
}
