//! A file system in an image file: created, mounted, shut down as by a power failure, and mounted again.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_process::command;
use tempfile::TempDir;

use crate::child::output;
use crate::sys;

const IMAGE_BYTES: u64 = 64 << 20;
/// How long a loop device may take to detach after its last use.
const DETACH_WAIT: Duration = Duration::from_secs(10);
const DETACH_POLL: Duration = Duration::from_millis(5);

/// How the file system is mounted. It commits its journal only when asked and flushes nothing on a rename, so only
/// synced data survives, not data saved by a timer or a heuristic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Data is written before the journal refers to it.
    Ordered,
    /// Data is written at any time.
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

/// The file system; it is unmounted, detached and removed on drop.
#[derive(Debug)]
pub(super) struct Disk {
    folder: TempDir,
    order: Order,
    mounted: bool,
}

impl Disk {
    /// Creates and mounts an empty file system.
    pub(super) fn make(order: Order) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot create an image: {error}");
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

    pub(super) fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    /// Opens the mount point in advance, so that the cut happens at the exact moment.
    pub(super) fn switch(&self) -> Result<Switch, String> {
        let file = File::open(self.mount_point());
        file.map(Switch)
            .map_err(|error| format!("cannot open the mount point: {error}"))
    }

    /// Mounts the image again after a cut. The old mount and device must be released first, so that data is read from
    /// the image and not from the kernel's caches.
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
        // The mount keeps the device attached, and the kernel detaches it on unmount. That works even if this process
        // is killed, since the mount is in its own namespace.
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
            // Still in use: detach it lazily.
            drop(output(command("umount").arg("--lazy").arg(self.mount_point())));
        }
    }
}

/// Shuts a file system down.
#[derive(Debug)]
pub(super) struct Switch(File);

impl Switch {
    /// Shuts the file system down, and closes the file so that it does not keep the mount busy.
    pub(super) fn cut(self) -> Result<(), String> {
        sys::shut_down(&self.0).map_err(|error| format!("the file system cannot be shut down: {error}"))
    }
}

/// Checks all requirements of a cut, or returns what is missing.
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
    sys::leave_mount_namespace().map_err(|error| format!("cannot create a mount namespace: {error}"))?;
    output(command("mount").args(["--make-rprivate", "/"]))?;
    let disk = Disk::make(Order::Ordered)?;
    disk.switch()?.cut()?;
    disk.mount_again().map(drop)
}
