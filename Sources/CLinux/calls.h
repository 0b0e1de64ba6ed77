// Made by scripts/list-calls, from these lines of systemd/kistd.service:
// SystemCallFilter=@system-service
// SystemCallFilter=~@privileged @resources memfd_create
// SystemCallFilter=seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self

ALLOW(accept) ALLOW(accept4) ALLOW(bind) ALLOW(brk) ALLOW(capget) ALLOW(chdir) ALLOW(clock_getres)
ALLOW(clock_gettime) ALLOW(clock_nanosleep) ALLOW(close) ALLOW(close_range) ALLOW(connect)
ALLOW(copy_file_range) ALLOW(dup) ALLOW(dup3) ALLOW(epoll_create1) ALLOW(epoll_ctl)
ALLOW(epoll_pwait) ALLOW(epoll_pwait2) ALLOW(eventfd2) ALLOW(exit) ALLOW(exit_group)
ALLOW(faccessat) ALLOW(faccessat2) ALLOW(fadvise64) ALLOW(fallocate) ALLOW(fchdir) ALLOW(fchmod)
ALLOW(fchmodat) ALLOW(fcntl) ALLOW(fdatasync) ALLOW(fgetxattr) ALLOW(flistxattr) ALLOW(flock)
ALLOW(fremovexattr) ALLOW(fsetxattr) ALLOW(fstat) ALLOW(fstatfs) ALLOW(fsync) ALLOW(ftruncate)
ALLOW(futex) ALLOW(futex_waitv) ALLOW(get_mempolicy) ALLOW(get_robust_list) ALLOW(getcpu)
ALLOW(getcwd) ALLOW(getdents64) ALLOW(getegid) ALLOW(geteuid) ALLOW(getgid) ALLOW(getgroups)
ALLOW(getitimer) ALLOW(getpeername) ALLOW(getpgid) ALLOW(getpid) ALLOW(getppid) ALLOW(getpriority)
ALLOW(getrandom) ALLOW(getresgid) ALLOW(getresuid) ALLOW(getrlimit) ALLOW(getrusage) ALLOW(getsid)
ALLOW(getsockname) ALLOW(getsockopt) ALLOW(gettid) ALLOW(gettimeofday) ALLOW(getuid) ALLOW(getxattr)
ALLOW(inotify_add_watch) ALLOW(inotify_init1) ALLOW(inotify_rm_watch) ALLOW(io_cancel)
ALLOW(io_destroy) ALLOW(io_getevents) ALLOW(io_pgetevents) ALLOW(io_setup) ALLOW(io_submit)
ALLOW(ioprio_get) ALLOW(kcmp) ALLOW(kill) ALLOW(lgetxattr) ALLOW(linkat) ALLOW(listen)
ALLOW(listxattr) ALLOW(llistxattr) ALLOW(lremovexattr) ALLOW(lseek) ALLOW(lsetxattr) ALLOW(madvise)
ALLOW(membarrier) ALLOW(mkdirat) ALLOW(mknodat) ALLOW(mlock) ALLOW(mlock2) ALLOW(mlockall)
ALLOW(mq_getsetattr) ALLOW(mq_notify) ALLOW(mq_open) ALLOW(mq_timedreceive) ALLOW(mq_timedsend)
ALLOW(mq_unlink) ALLOW(mremap) ALLOW(msgctl) ALLOW(msgget) ALLOW(msgrcv) ALLOW(msgsnd) ALLOW(msync)
ALLOW(munlock) ALLOW(munlockall) ALLOW(munmap) ALLOW(name_to_handle_at) ALLOW(nanosleep)
ALLOW(newfstatat) ALLOW(openat) ALLOW(openat2) ALLOW(pidfd_open) ALLOW(pidfd_send_signal)
ALLOW(pipe2) ALLOW(ppoll) ALLOW(prctl) ALLOW(pread64) ALLOW(preadv) ALLOW(preadv2) ALLOW(pselect6)
ALLOW(pwrite64) ALLOW(pwritev) ALLOW(pwritev2) ALLOW(read) ALLOW(readahead) ALLOW(readlinkat)
ALLOW(readv) ALLOW(recvfrom) ALLOW(recvmmsg) ALLOW(recvmsg) ALLOW(remap_file_pages)
ALLOW(removexattr) ALLOW(renameat2) ALLOW(restart_syscall) ALLOW(rseq) ALLOW(rt_sigaction)
ALLOW(rt_sigpending) ALLOW(rt_sigprocmask) ALLOW(rt_sigqueueinfo) ALLOW(rt_sigreturn)
ALLOW(rt_sigsuspend) ALLOW(rt_sigtimedwait) ALLOW(rt_tgsigqueueinfo) ALLOW(sched_get_priority_max)
ALLOW(sched_get_priority_min) ALLOW(sched_getaffinity) ALLOW(sched_getattr) ALLOW(sched_getparam)
ALLOW(sched_getscheduler) ALLOW(sched_rr_get_interval) ALLOW(sched_yield) ALLOW(semctl)
ALLOW(semget) ALLOW(semop) ALLOW(semtimedop) ALLOW(sendfile) ALLOW(sendmmsg) ALLOW(sendmsg)
ALLOW(sendto) ALLOW(set_robust_list) ALLOW(set_tid_address) ALLOW(setfsgid) ALLOW(setgid)
ALLOW(setitimer) ALLOW(setpgid) ALLOW(setregid) ALLOW(setresgid) ALLOW(setsid) ALLOW(setsockopt)
ALLOW(setxattr) ALLOW(shmctl) ALLOW(shmdt) ALLOW(shmget) ALLOW(shutdown) ALLOW(sigaltstack)
ALLOW(signalfd4) ALLOW(splice) ALLOW(statfs) ALLOW(statx) ALLOW(symlinkat) ALLOW(sync)
ALLOW(sync_file_range) ALLOW(syncfs) ALLOW(sysinfo) ALLOW(tee) ALLOW(tgkill) ALLOW(timer_create)
ALLOW(timer_delete) ALLOW(timer_getoverrun) ALLOW(timer_gettime) ALLOW(timer_settime)
ALLOW(timerfd_create) ALLOW(timerfd_gettime) ALLOW(timerfd_settime) ALLOW(times) ALLOW(tkill)
ALLOW(truncate) ALLOW(umask) ALLOW(uname) ALLOW(unlinkat) ALLOW(utimensat) ALLOW(vmsplice)
ALLOW(wait4) ALLOW(waitid) ALLOW(write) ALLOW(writev)
#ifdef __x86_64__
ALLOW(access) ALLOW(alarm) ALLOW(arch_prctl) ALLOW(chmod) ALLOW(creat) ALLOW(dup2)
ALLOW(epoll_create) ALLOW(epoll_ctl_old) ALLOW(epoll_wait) ALLOW(epoll_wait_old) ALLOW(eventfd)
ALLOW(futimesat) ALLOW(get_thread_area) ALLOW(getdents) ALLOW(getpgrp) ALLOW(inotify_init)
ALLOW(link) ALLOW(lstat) ALLOW(mkdir) ALLOW(mknod) ALLOW(open) ALLOW(pause) ALLOW(pipe) ALLOW(poll)
ALLOW(readlink) ALLOW(rename) ALLOW(rmdir) ALLOW(select) ALLOW(set_thread_area) ALLOW(signalfd)
ALLOW(stat) ALLOW(symlink) ALLOW(time) ALLOW(unlink) ALLOW(utime) ALLOW(utimes)
#endif
#ifdef __NR_fchmodat2
ALLOW(fchmodat2)
#endif
#ifdef __NR_renameat
ALLOW(renameat)
#endif
#ifdef __NR_riscv_flush_icache
ALLOW(riscv_flush_icache)
#endif
#ifdef __NR_riscv_hwprobe
ALLOW(riscv_hwprobe)
#endif
#ifdef __NR_uretprobe
ALLOW(uretprobe)
#endif
