//! Disks and what lies on them: pools, volumes, encryption, backups.

use super::Look;
use super::arguments::Arguments;
use crate::shell::Word;

/// Judges programs for storage; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    let words: Vec<String> = arguments.operands.iter().map(Word::shown).collect();
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    match base {
        "zfs" | "zpool" | "btrfs" | "lvm" | "cryptsetup" | "mdadm" | "nvme" | "bcachefs" | "dmsetup"
        | "diskutil" | "hdiutil" | "storcli" | "megacli" | "xfs_admin" | "tmutil" => {
            let looks = matches!(
                first,
                "list"
                    | "get"
                    | "status"
                    | "history"
                    | "iostat"
                    | "luksDump"
                    | "isLuks"
                    | "smart-log"
                    | "id-ctrl"
                    | "id-ns"
                    | "error-log"
                    | "info"
                    | "ls"
                    | "table"
                    | "deps"
                    | "lvs"
                    | "vgs"
                    | "pvs"
                    | "lvdisplay"
                    | "vgdisplay"
                    | "pvdisplay"
                    | "show"
                    | "version"
                    | "listbackups"
                    | "destinationinfo"
            ) || first == "filesystem" && second != "resize" && second != "label"
                || matches!(first, "subvolume" | "device" | "scrub" | "balance" | "property" | "qgroup")
                    && matches!(
                        second,
                        "list" | "show" | "stats" | "status" | "usage" | "get" | "get-default"
                    )
                || has("--detail")
                || has("--examine");
            let destroys = super::cloud::destroys(first)
                || super::cloud::destroys(second)
                || first.ends_with("remove") && base == "lvm"
                || matches!(
                    first,
                    "luksFormat"
                        | "format"
                        | "erase"
                        | "sanitize"
                        | "luksErase"
                        | "luksKillSlot"
                        | "labelclear"
                        | "reformat"
                        | "rollback"
                        | "reencrypt"
                        | "remove_all"
                        | "wipe_table"
                        | "eraseDisk"
                        | "eraseVolume"
                        | "partitionDisk"
                        | "secureErase"
                        | "zeroDisk"
                        | "deleteContainer"
                        | "reformatDisk"
                        | "luksRemoveKey"
                        | "write-zeroes"
                        | "offline"
                        | "disable"
                        | "deletelocalsnapshots"
                )
                || all.iter().any(|word| {
                    matches!(
                        word.as_str(),
                        "--zero-superblock" | "--stop" | "--remove" | "--create" | "--fail"
                    )
                });
            if destroys {
                look.catastrophe("device", "it destroys storage");
            } else if !looks {
                look.ask("storage", "it changes storage");
            }
            true
        }
        "borg" | "restic" | "kopia" | "duplicity" | "rdiff-backup" | "tarsnap" | "bup" | "duplicati-cli" => {
            let destroys = words.iter().take(2).any(|word| {
                matches!(
                    word.as_str(),
                    "delete"
                        | "prune"
                        | "forget"
                        | "unlock"
                        | "break-lock"
                        | "compact"
                        | "remove-all-but-n-full"
                        | "remove-older-than"
                        | "cleanup"
                        | "nuke"
                        | "key"
                )
            });
            let looks = matches!(
                first,
                "list"
                    | "info"
                    | "check"
                    | "snapshots"
                    | "ls"
                    | "stats"
                    | "diff"
                    | "find"
                    | "version"
                    | "help"
                    | "collection-status"
                    | "list-current-files"
                    | "status"
                    | "verify"
                    | "cat"
            ) || all.iter().any(|word| {
                matches!(word.as_str(), "--list-increments" | "--list-archives" | "--print-stats")
            });
            let runs = all.iter().any(|word| {
                word.starts_with("--password-command")
                    || word.starts_with("--passphrase-command")
                    || word.starts_with("--rsh")
            });
            if destroys && !has("--dry-run") && !has("-n") {
                look.deny("storage.backup", "it deletes backups");
            } else if !looks || runs {
                look.ask("storage.backup", "it makes or restores backups");
            }
            true
        }
        _ => false,
    }
}
