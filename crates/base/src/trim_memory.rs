//! Returns memory that a process needed only while it started.
//!
//! Beginning touches much of a large program once: tables, parsers, expressions that are compiled. What is mapped from the
//! program's file is let go and comes back from the system's cache, piece by piece, when it is needed again.

/// Gives back what the allocator holds free, and what is mapped of this program's file and was never changed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "neither the allocator nor the loader can be asked otherwise")]
pub fn give_back() {
    // SAFETY: it has no argument that could be wrong, and may be called at any time.
    unsafe { libc::malloc_trim(0) };
    // SAFETY: the callback keeps nothing of what it is handed.
    unsafe { libc::dl_iterate_phdr(Some(let_go), std::ptr::null_mut()) };
}

/// Does nothing here.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}

/// Lets go what the first object, the program, maps and cannot write to.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the loader hands out pointers")]
unsafe extern "C" fn let_go(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    _data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: it only asks for a number.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    // SAFETY: the loader hands out a valid object, whose headers are as many as it says.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr, std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)))
    };
    for header in headers.iter().filter(|it| it.p_type == libc::PT_LOAD && it.p_flags & libc::PF_W == 0) {
        let start = (base + header.p_vaddr).next_multiple_of(page);
        let end = (base + header.p_vaddr + header.p_memsz) / page * page;
        let (Ok(at), Ok(length)) = (usize::try_from(start), usize::try_from(end.saturating_sub(start)))
        else {
            continue;
        };
        // SAFETY: these pages are mapped from a file and were never written to, so that what comes back is the same.
        unsafe { libc::madvise(at as *mut libc::c_void, length, libc::MADV_DONTNEED) };
    }
    // The first is the program itself; the libraries stay as they are.
    1
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_works_after_its_memory_was_trimmed() {
        let words: Vec<String> = (0..1000).map(|n| format!("word {n}")).collect();
        super::give_back();
        assert_eq!(words.join(" ").len(), words.iter().map(|word| word.len() + 1).sum::<usize>() - 1);
    }
}
