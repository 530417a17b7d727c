//! Selects the source files that the guest needs: a fifth of a kernel's sources. The configuration system reads the descriptions of all folders, so
//! these are always kept. C files are kept where the guest's configuration (`um/config`) can reach them.

/// The mark of a tree that is whole, which sources must not bring.
pub(crate) const READY: &str = ".forebay";
/// Folders of `drivers` that are built. Of `drivers/net` what lies there itself is enough.
const DRIVERS: [&str; 6] = ["base", "char", "clocksource", "net", "of", "tty"];
/// Folders of `fs` that are built, or whose headers others include.
const FILE_SYSTEMS: [&str; 12] =
    ["configfs", "crypto", "debugfs", "devpts", "exportfs", "iomap", "kernfs", "notify", "proc", "quota", "ramfs", "sysfs"];
/// Folders of `tools` whose files the build itself uses.
const TOOLS: [&str; 5] = ["build", "include", "lib", "objtool", "scripts"];

/// Files that the configuration system and make read.
fn describes(name: &str) -> bool {
    ["Makefile", "Kconfig", "Kbuild"].iter().any(|d| name.starts_with(d))
}

/// Files that a build creates; a folder in which a kernel was built has them.
fn built(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |n| n.1);
    name.starts_with(".tmp_")
        || [".config", READY].contains(&name)
        || ["o", "a", "cmd", "ko", "mod", "order", "symvers"].contains(&ending)
}

/// Returns true if the file at `path`, relative to the top of the sources and separated by `/`, is needed.
pub(crate) fn wanted(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let (top, name) = (parts[0], parts[parts.len() - 1]);
    let generated = parts.windows(2).any(|p| p[0] == "include" && ["generated", "config"].contains(&p[1]));
    if built(name) || generated || parts.contains(&".git") {
        return false;
    }
    match (top, parts.len()) {
        (_, 1) => true,
        ("Documentation", depth) => depth == 2 && describes(name),
        _ if describes(name) => true,
        ("arch", depth) => depth > 2 && ["um", "x86"].contains(&parts[1]) && parts[2] != "kvm",
        ("drivers", depth) => DRIVERS.contains(&parts[1]) && (parts[1] != "net" || depth == 3),
        ("fs", depth) => depth == 2 || FILE_SYSTEMS.contains(&parts[1]),
        ("tools", _) => TOOLS.contains(&parts[1]),
        ("certs" | "LICENSES" | "rust" | "samples" | "sound", _) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn descriptions_stay_and_foreign_drivers_go() {
        for path in [
            "Makefile",
            "net/ipv4/tcp_input.c",
            "arch/um/kernel/time.c",
            "arch/arm/crypto/Kconfig",
            "drivers/gpu/drm/amd/display/Kconfig",
            "drivers/net/loopback.c",
            "drivers/net/ethernet/intel/Makefile",
            "Documentation/Kconfig",
            "fs/exec.c",
            "scripts/Kbuild.include",
        ] {
            assert!(wanted(path), "{path}");
        }
        for path in [
            "Documentation/networking/ip-sysctl.rst",
            "Documentation/networking/Makefile",
            "arch/arm/kernel/time.c",
            "arch/x86/kvm/x86.c",
            "drivers/gpu/drm/drm_drv.c",
            "drivers/net/ethernet/intel/e1000/e1000_main.c",
            "fs/xfs/xfs_log.c",
            "sound/core/pcm.c",
            "tools/perf/perf.c",
            "net/ipv4/tcp_input.o",
            ".config",
            ".forebay",
            "include/generated/autoconf.h",
            ".git/HEAD",
        ] {
            assert!(!wanted(path), "{path}");
        }
    }
}
