// Made by scripts/list-calls, from these lines of systemd/kistd.service:
// SystemCallFilter=@system-service
// SystemCallFilter=~@privileged @resources memfd_create
// SystemCallFilter=seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self

#ifdef __NR__llseek
ALLOW(_llseek)
#endif
#ifdef __NR__newselect
ALLOW(_newselect)
#endif
#ifdef __NR_accept
ALLOW(accept)
#endif
#ifdef __NR_accept4
ALLOW(accept4)
#endif
#ifdef __NR_access
ALLOW(access)
#endif
#ifdef __NR_alarm
ALLOW(alarm)
#endif
#ifdef __NR_arch_prctl
ALLOW(arch_prctl)
#endif
#ifdef __NR_arm_fadvise64_64
ALLOW(arm_fadvise64_64)
#endif
#ifdef __NR_bind
ALLOW(bind)
#endif
#ifdef __NR_brk
ALLOW(brk)
#endif
#ifdef __NR_cacheflush
ALLOW(cacheflush)
#endif
#ifdef __NR_capget
ALLOW(capget)
#endif
#ifdef __NR_chdir
ALLOW(chdir)
#endif
#ifdef __NR_chmod
ALLOW(chmod)
#endif
#ifdef __NR_clock_getres
ALLOW(clock_getres)
#endif
#ifdef __NR_clock_getres_time64
ALLOW(clock_getres_time64)
#endif
#ifdef __NR_clock_gettime
ALLOW(clock_gettime)
#endif
#ifdef __NR_clock_gettime64
ALLOW(clock_gettime64)
#endif
#ifdef __NR_clock_nanosleep
ALLOW(clock_nanosleep)
#endif
#ifdef __NR_clock_nanosleep_time64
ALLOW(clock_nanosleep_time64)
#endif
#ifdef __NR_close
ALLOW(close)
#endif
#ifdef __NR_close_range
ALLOW(close_range)
#endif
#ifdef __NR_connect
ALLOW(connect)
#endif
#ifdef __NR_copy_file_range
ALLOW(copy_file_range)
#endif
#ifdef __NR_creat
ALLOW(creat)
#endif
#ifdef __NR_dup
ALLOW(dup)
#endif
#ifdef __NR_dup2
ALLOW(dup2)
#endif
#ifdef __NR_dup3
ALLOW(dup3)
#endif
#ifdef __NR_epoll_create
ALLOW(epoll_create)
#endif
#ifdef __NR_epoll_create1
ALLOW(epoll_create1)
#endif
#ifdef __NR_epoll_ctl
ALLOW(epoll_ctl)
#endif
#ifdef __NR_epoll_ctl_old
ALLOW(epoll_ctl_old)
#endif
#ifdef __NR_epoll_pwait
ALLOW(epoll_pwait)
#endif
#ifdef __NR_epoll_pwait2
ALLOW(epoll_pwait2)
#endif
#ifdef __NR_epoll_wait
ALLOW(epoll_wait)
#endif
#ifdef __NR_epoll_wait_old
ALLOW(epoll_wait_old)
#endif
#ifdef __NR_eventfd
ALLOW(eventfd)
#endif
#ifdef __NR_eventfd2
ALLOW(eventfd2)
#endif
#ifdef __NR_exit
ALLOW(exit)
#endif
#ifdef __NR_exit_group
ALLOW(exit_group)
#endif
#ifdef __NR_faccessat
ALLOW(faccessat)
#endif
#ifdef __NR_faccessat2
ALLOW(faccessat2)
#endif
#ifdef __NR_fadvise64
ALLOW(fadvise64)
#endif
#ifdef __NR_fadvise64_64
ALLOW(fadvise64_64)
#endif
#ifdef __NR_fallocate
ALLOW(fallocate)
#endif
#ifdef __NR_fchdir
ALLOW(fchdir)
#endif
#ifdef __NR_fchmod
ALLOW(fchmod)
#endif
#ifdef __NR_fchmodat
ALLOW(fchmodat)
#endif
#ifdef __NR_fchmodat2
ALLOW(fchmodat2)
#endif
#ifdef __NR_fcntl
ALLOW(fcntl)
#endif
#ifdef __NR_fcntl64
ALLOW(fcntl64)
#endif
#ifdef __NR_fdatasync
ALLOW(fdatasync)
#endif
#ifdef __NR_fgetxattr
ALLOW(fgetxattr)
#endif
#ifdef __NR_flistxattr
ALLOW(flistxattr)
#endif
#ifdef __NR_flock
ALLOW(flock)
#endif
#ifdef __NR_fremovexattr
ALLOW(fremovexattr)
#endif
#ifdef __NR_fsetxattr
ALLOW(fsetxattr)
#endif
#ifdef __NR_fstat
ALLOW(fstat)
#endif
#ifdef __NR_fstat64
ALLOW(fstat64)
#endif
#ifdef __NR_fstatat64
ALLOW(fstatat64)
#endif
#ifdef __NR_fstatfs
ALLOW(fstatfs)
#endif
#ifdef __NR_fstatfs64
ALLOW(fstatfs64)
#endif
#ifdef __NR_fsync
ALLOW(fsync)
#endif
#ifdef __NR_ftruncate
ALLOW(ftruncate)
#endif
#ifdef __NR_ftruncate64
ALLOW(ftruncate64)
#endif
#ifdef __NR_futex
ALLOW(futex)
#endif
#ifdef __NR_futex_time64
ALLOW(futex_time64)
#endif
#ifdef __NR_futex_waitv
ALLOW(futex_waitv)
#endif
#ifdef __NR_futimesat
ALLOW(futimesat)
#endif
#ifdef __NR_get_mempolicy
ALLOW(get_mempolicy)
#endif
#ifdef __NR_get_robust_list
ALLOW(get_robust_list)
#endif
#ifdef __NR_get_thread_area
ALLOW(get_thread_area)
#endif
#ifdef __NR_getcpu
ALLOW(getcpu)
#endif
#ifdef __NR_getcwd
ALLOW(getcwd)
#endif
#ifdef __NR_getdents
ALLOW(getdents)
#endif
#ifdef __NR_getdents64
ALLOW(getdents64)
#endif
#ifdef __NR_getegid
ALLOW(getegid)
#endif
#ifdef __NR_getegid32
ALLOW(getegid32)
#endif
#ifdef __NR_geteuid
ALLOW(geteuid)
#endif
#ifdef __NR_geteuid32
ALLOW(geteuid32)
#endif
#ifdef __NR_getgid
ALLOW(getgid)
#endif
#ifdef __NR_getgid32
ALLOW(getgid32)
#endif
#ifdef __NR_getgroups
ALLOW(getgroups)
#endif
#ifdef __NR_getgroups32
ALLOW(getgroups32)
#endif
#ifdef __NR_getitimer
ALLOW(getitimer)
#endif
#ifdef __NR_getpeername
ALLOW(getpeername)
#endif
#ifdef __NR_getpgid
ALLOW(getpgid)
#endif
#ifdef __NR_getpgrp
ALLOW(getpgrp)
#endif
#ifdef __NR_getpid
ALLOW(getpid)
#endif
#ifdef __NR_getppid
ALLOW(getppid)
#endif
#ifdef __NR_getpriority
ALLOW(getpriority)
#endif
#ifdef __NR_getrandom
ALLOW(getrandom)
#endif
#ifdef __NR_getresgid
ALLOW(getresgid)
#endif
#ifdef __NR_getresgid32
ALLOW(getresgid32)
#endif
#ifdef __NR_getresuid
ALLOW(getresuid)
#endif
#ifdef __NR_getresuid32
ALLOW(getresuid32)
#endif
#ifdef __NR_getrlimit
ALLOW(getrlimit)
#endif
#ifdef __NR_getrusage
ALLOW(getrusage)
#endif
#ifdef __NR_getsid
ALLOW(getsid)
#endif
#ifdef __NR_getsockname
ALLOW(getsockname)
#endif
#ifdef __NR_getsockopt
ALLOW(getsockopt)
#endif
#ifdef __NR_gettid
ALLOW(gettid)
#endif
#ifdef __NR_gettimeofday
ALLOW(gettimeofday)
#endif
#ifdef __NR_getuid
ALLOW(getuid)
#endif
#ifdef __NR_getuid32
ALLOW(getuid32)
#endif
#ifdef __NR_getxattr
ALLOW(getxattr)
#endif
#ifdef __NR_inotify_add_watch
ALLOW(inotify_add_watch)
#endif
#ifdef __NR_inotify_init
ALLOW(inotify_init)
#endif
#ifdef __NR_inotify_init1
ALLOW(inotify_init1)
#endif
#ifdef __NR_inotify_rm_watch
ALLOW(inotify_rm_watch)
#endif
#ifdef __NR_io_cancel
ALLOW(io_cancel)
#endif
#ifdef __NR_io_destroy
ALLOW(io_destroy)
#endif
#ifdef __NR_io_getevents
ALLOW(io_getevents)
#endif
#ifdef __NR_io_pgetevents
ALLOW(io_pgetevents)
#endif
#ifdef __NR_io_pgetevents_time64
ALLOW(io_pgetevents_time64)
#endif
#ifdef __NR_io_setup
ALLOW(io_setup)
#endif
#ifdef __NR_io_submit
ALLOW(io_submit)
#endif
#ifdef __NR_ioprio_get
ALLOW(ioprio_get)
#endif
#ifdef __NR_ipc
ALLOW(ipc)
#endif
#ifdef __NR_kcmp
ALLOW(kcmp)
#endif
#ifdef __NR_kill
ALLOW(kill)
#endif
#ifdef __NR_lgetxattr
ALLOW(lgetxattr)
#endif
#ifdef __NR_link
ALLOW(link)
#endif
#ifdef __NR_linkat
ALLOW(linkat)
#endif
#ifdef __NR_listen
ALLOW(listen)
#endif
#ifdef __NR_listxattr
ALLOW(listxattr)
#endif
#ifdef __NR_llistxattr
ALLOW(llistxattr)
#endif
#ifdef __NR_lremovexattr
ALLOW(lremovexattr)
#endif
#ifdef __NR_lseek
ALLOW(lseek)
#endif
#ifdef __NR_lsetxattr
ALLOW(lsetxattr)
#endif
#ifdef __NR_lstat
ALLOW(lstat)
#endif
#ifdef __NR_lstat64
ALLOW(lstat64)
#endif
#ifdef __NR_madvise
ALLOW(madvise)
#endif
#ifdef __NR_membarrier
ALLOW(membarrier)
#endif
#ifdef __NR_mkdir
ALLOW(mkdir)
#endif
#ifdef __NR_mkdirat
ALLOW(mkdirat)
#endif
#ifdef __NR_mknod
ALLOW(mknod)
#endif
#ifdef __NR_mknodat
ALLOW(mknodat)
#endif
#ifdef __NR_mlock
ALLOW(mlock)
#endif
#ifdef __NR_mlock2
ALLOW(mlock2)
#endif
#ifdef __NR_mlockall
ALLOW(mlockall)
#endif
#ifdef __NR_mmap2
ALLOW(mmap2)
#endif
#ifdef __NR_mq_getsetattr
ALLOW(mq_getsetattr)
#endif
#ifdef __NR_mq_notify
ALLOW(mq_notify)
#endif
#ifdef __NR_mq_open
ALLOW(mq_open)
#endif
#ifdef __NR_mq_timedreceive
ALLOW(mq_timedreceive)
#endif
#ifdef __NR_mq_timedreceive_time64
ALLOW(mq_timedreceive_time64)
#endif
#ifdef __NR_mq_timedsend
ALLOW(mq_timedsend)
#endif
#ifdef __NR_mq_timedsend_time64
ALLOW(mq_timedsend_time64)
#endif
#ifdef __NR_mq_unlink
ALLOW(mq_unlink)
#endif
#ifdef __NR_mremap
ALLOW(mremap)
#endif
#ifdef __NR_msgctl
ALLOW(msgctl)
#endif
#ifdef __NR_msgget
ALLOW(msgget)
#endif
#ifdef __NR_msgrcv
ALLOW(msgrcv)
#endif
#ifdef __NR_msgsnd
ALLOW(msgsnd)
#endif
#ifdef __NR_msync
ALLOW(msync)
#endif
#ifdef __NR_munlock
ALLOW(munlock)
#endif
#ifdef __NR_munlockall
ALLOW(munlockall)
#endif
#ifdef __NR_munmap
ALLOW(munmap)
#endif
#ifdef __NR_name_to_handle_at
ALLOW(name_to_handle_at)
#endif
#ifdef __NR_nanosleep
ALLOW(nanosleep)
#endif
#ifdef __NR_newfstatat
ALLOW(newfstatat)
#endif
#ifdef __NR_oldfstat
ALLOW(oldfstat)
#endif
#ifdef __NR_oldlstat
ALLOW(oldlstat)
#endif
#ifdef __NR_oldolduname
ALLOW(oldolduname)
#endif
#ifdef __NR_oldstat
ALLOW(oldstat)
#endif
#ifdef __NR_olduname
ALLOW(olduname)
#endif
#ifdef __NR_open
ALLOW(open)
#endif
#ifdef __NR_openat
ALLOW(openat)
#endif
#ifdef __NR_openat2
ALLOW(openat2)
#endif
#ifdef __NR_pause
ALLOW(pause)
#endif
#ifdef __NR_pidfd_open
ALLOW(pidfd_open)
#endif
#ifdef __NR_pidfd_send_signal
ALLOW(pidfd_send_signal)
#endif
#ifdef __NR_pipe
ALLOW(pipe)
#endif
#ifdef __NR_pipe2
ALLOW(pipe2)
#endif
#ifdef __NR_poll
ALLOW(poll)
#endif
#ifdef __NR_ppoll
ALLOW(ppoll)
#endif
#ifdef __NR_ppoll_time64
ALLOW(ppoll_time64)
#endif
#ifdef __NR_prctl
ALLOW(prctl)
#endif
#ifdef __NR_pread64
ALLOW(pread64)
#endif
#ifdef __NR_preadv
ALLOW(preadv)
#endif
#ifdef __NR_preadv2
ALLOW(preadv2)
#endif
#ifdef __NR_prlimit64
ALLOW(prlimit64)
#endif
#ifdef __NR_pselect6
ALLOW(pselect6)
#endif
#ifdef __NR_pselect6_time64
ALLOW(pselect6_time64)
#endif
#ifdef __NR_pwrite64
ALLOW(pwrite64)
#endif
#ifdef __NR_pwritev
ALLOW(pwritev)
#endif
#ifdef __NR_pwritev2
ALLOW(pwritev2)
#endif
#ifdef __NR_read
ALLOW(read)
#endif
#ifdef __NR_readahead
ALLOW(readahead)
#endif
#ifdef __NR_readdir
ALLOW(readdir)
#endif
#ifdef __NR_readlink
ALLOW(readlink)
#endif
#ifdef __NR_readlinkat
ALLOW(readlinkat)
#endif
#ifdef __NR_readv
ALLOW(readv)
#endif
#ifdef __NR_recv
ALLOW(recv)
#endif
#ifdef __NR_recvfrom
ALLOW(recvfrom)
#endif
#ifdef __NR_recvmmsg
ALLOW(recvmmsg)
#endif
#ifdef __NR_recvmmsg_time64
ALLOW(recvmmsg_time64)
#endif
#ifdef __NR_recvmsg
ALLOW(recvmsg)
#endif
#ifdef __NR_remap_file_pages
ALLOW(remap_file_pages)
#endif
#ifdef __NR_removexattr
ALLOW(removexattr)
#endif
#ifdef __NR_rename
ALLOW(rename)
#endif
#ifdef __NR_renameat
ALLOW(renameat)
#endif
#ifdef __NR_renameat2
ALLOW(renameat2)
#endif
#ifdef __NR_restart_syscall
ALLOW(restart_syscall)
#endif
#ifdef __NR_riscv_flush_icache
ALLOW(riscv_flush_icache)
#endif
#ifdef __NR_riscv_hwprobe
ALLOW(riscv_hwprobe)
#endif
#ifdef __NR_rmdir
ALLOW(rmdir)
#endif
#ifdef __NR_rseq
ALLOW(rseq)
#endif
#ifdef __NR_rt_sigaction
ALLOW(rt_sigaction)
#endif
#ifdef __NR_rt_sigpending
ALLOW(rt_sigpending)
#endif
#ifdef __NR_rt_sigprocmask
ALLOW(rt_sigprocmask)
#endif
#ifdef __NR_rt_sigqueueinfo
ALLOW(rt_sigqueueinfo)
#endif
#ifdef __NR_rt_sigreturn
ALLOW(rt_sigreturn)
#endif
#ifdef __NR_rt_sigsuspend
ALLOW(rt_sigsuspend)
#endif
#ifdef __NR_rt_sigtimedwait
ALLOW(rt_sigtimedwait)
#endif
#ifdef __NR_rt_sigtimedwait_time64
ALLOW(rt_sigtimedwait_time64)
#endif
#ifdef __NR_rt_tgsigqueueinfo
ALLOW(rt_tgsigqueueinfo)
#endif
#ifdef __NR_sched_get_priority_max
ALLOW(sched_get_priority_max)
#endif
#ifdef __NR_sched_get_priority_min
ALLOW(sched_get_priority_min)
#endif
#ifdef __NR_sched_getaffinity
ALLOW(sched_getaffinity)
#endif
#ifdef __NR_sched_getattr
ALLOW(sched_getattr)
#endif
#ifdef __NR_sched_getparam
ALLOW(sched_getparam)
#endif
#ifdef __NR_sched_getscheduler
ALLOW(sched_getscheduler)
#endif
#ifdef __NR_sched_rr_get_interval
ALLOW(sched_rr_get_interval)
#endif
#ifdef __NR_sched_rr_get_interval_time64
ALLOW(sched_rr_get_interval_time64)
#endif
#ifdef __NR_sched_yield
ALLOW(sched_yield)
#endif
#ifdef __NR_select
ALLOW(select)
#endif
#ifdef __NR_semctl
ALLOW(semctl)
#endif
#ifdef __NR_semget
ALLOW(semget)
#endif
#ifdef __NR_semop
ALLOW(semop)
#endif
#ifdef __NR_semtimedop
ALLOW(semtimedop)
#endif
#ifdef __NR_semtimedop_time64
ALLOW(semtimedop_time64)
#endif
#ifdef __NR_send
ALLOW(send)
#endif
#ifdef __NR_sendfile
ALLOW(sendfile)
#endif
#ifdef __NR_sendfile64
ALLOW(sendfile64)
#endif
#ifdef __NR_sendmmsg
ALLOW(sendmmsg)
#endif
#ifdef __NR_sendmsg
ALLOW(sendmsg)
#endif
#ifdef __NR_sendto
ALLOW(sendto)
#endif
#ifdef __NR_set_robust_list
ALLOW(set_robust_list)
#endif
#ifdef __NR_set_thread_area
ALLOW(set_thread_area)
#endif
#ifdef __NR_set_tid_address
ALLOW(set_tid_address)
#endif
#ifdef __NR_set_tls
ALLOW(set_tls)
#endif
#ifdef __NR_setfsgid
ALLOW(setfsgid)
#endif
#ifdef __NR_setfsgid32
ALLOW(setfsgid32)
#endif
#ifdef __NR_setgid
ALLOW(setgid)
#endif
#ifdef __NR_setgid32
ALLOW(setgid32)
#endif
#ifdef __NR_setitimer
ALLOW(setitimer)
#endif
#ifdef __NR_setpgid
ALLOW(setpgid)
#endif
#ifdef __NR_setregid
ALLOW(setregid)
#endif
#ifdef __NR_setregid32
ALLOW(setregid32)
#endif
#ifdef __NR_setresgid
ALLOW(setresgid)
#endif
#ifdef __NR_setresgid32
ALLOW(setresgid32)
#endif
#ifdef __NR_setsid
ALLOW(setsid)
#endif
#ifdef __NR_setsockopt
ALLOW(setsockopt)
#endif
#ifdef __NR_setxattr
ALLOW(setxattr)
#endif
#ifdef __NR_shmctl
ALLOW(shmctl)
#endif
#ifdef __NR_shmdt
ALLOW(shmdt)
#endif
#ifdef __NR_shmget
ALLOW(shmget)
#endif
#ifdef __NR_shutdown
ALLOW(shutdown)
#endif
#ifdef __NR_sigaction
ALLOW(sigaction)
#endif
#ifdef __NR_sigaltstack
ALLOW(sigaltstack)
#endif
#ifdef __NR_signal
ALLOW(signal)
#endif
#ifdef __NR_signalfd
ALLOW(signalfd)
#endif
#ifdef __NR_signalfd4
ALLOW(signalfd4)
#endif
#ifdef __NR_sigpending
ALLOW(sigpending)
#endif
#ifdef __NR_sigprocmask
ALLOW(sigprocmask)
#endif
#ifdef __NR_sigreturn
ALLOW(sigreturn)
#endif
#ifdef __NR_sigsuspend
ALLOW(sigsuspend)
#endif
#ifdef __NR_socketcall
ALLOW(socketcall)
#endif
#ifdef __NR_socketpair
ALLOW(socketpair)
#endif
#ifdef __NR_splice
ALLOW(splice)
#endif
#ifdef __NR_stat
ALLOW(stat)
#endif
#ifdef __NR_stat64
ALLOW(stat64)
#endif
#ifdef __NR_statfs
ALLOW(statfs)
#endif
#ifdef __NR_statfs64
ALLOW(statfs64)
#endif
#ifdef __NR_statx
ALLOW(statx)
#endif
#ifdef __NR_swapcontext
ALLOW(swapcontext)
#endif
#ifdef __NR_symlink
ALLOW(symlink)
#endif
#ifdef __NR_symlinkat
ALLOW(symlinkat)
#endif
#ifdef __NR_sync
ALLOW(sync)
#endif
#ifdef __NR_sync_file_range
ALLOW(sync_file_range)
#endif
#ifdef __NR_sync_file_range2
ALLOW(sync_file_range2)
#endif
#ifdef __NR_syncfs
ALLOW(syncfs)
#endif
#ifdef __NR_sysinfo
ALLOW(sysinfo)
#endif
#ifdef __NR_tee
ALLOW(tee)
#endif
#ifdef __NR_tgkill
ALLOW(tgkill)
#endif
#ifdef __NR_time
ALLOW(time)
#endif
#ifdef __NR_timer_create
ALLOW(timer_create)
#endif
#ifdef __NR_timer_delete
ALLOW(timer_delete)
#endif
#ifdef __NR_timer_getoverrun
ALLOW(timer_getoverrun)
#endif
#ifdef __NR_timer_gettime
ALLOW(timer_gettime)
#endif
#ifdef __NR_timer_gettime64
ALLOW(timer_gettime64)
#endif
#ifdef __NR_timer_settime
ALLOW(timer_settime)
#endif
#ifdef __NR_timer_settime64
ALLOW(timer_settime64)
#endif
#ifdef __NR_timerfd_create
ALLOW(timerfd_create)
#endif
#ifdef __NR_timerfd_gettime
ALLOW(timerfd_gettime)
#endif
#ifdef __NR_timerfd_gettime64
ALLOW(timerfd_gettime64)
#endif
#ifdef __NR_timerfd_settime
ALLOW(timerfd_settime)
#endif
#ifdef __NR_timerfd_settime64
ALLOW(timerfd_settime64)
#endif
#ifdef __NR_times
ALLOW(times)
#endif
#ifdef __NR_tkill
ALLOW(tkill)
#endif
#ifdef __NR_truncate
ALLOW(truncate)
#endif
#ifdef __NR_truncate64
ALLOW(truncate64)
#endif
#ifdef __NR_ugetrlimit
ALLOW(ugetrlimit)
#endif
#ifdef __NR_umask
ALLOW(umask)
#endif
#ifdef __NR_uname
ALLOW(uname)
#endif
#ifdef __NR_unlink
ALLOW(unlink)
#endif
#ifdef __NR_unlinkat
ALLOW(unlinkat)
#endif
#ifdef __NR_uretprobe
ALLOW(uretprobe)
#endif
#ifdef __NR_utime
ALLOW(utime)
#endif
#ifdef __NR_utimensat
ALLOW(utimensat)
#endif
#ifdef __NR_utimensat_time64
ALLOW(utimensat_time64)
#endif
#ifdef __NR_utimes
ALLOW(utimes)
#endif
#ifdef __NR_vmsplice
ALLOW(vmsplice)
#endif
#ifdef __NR_wait4
ALLOW(wait4)
#endif
#ifdef __NR_waitid
ALLOW(waitid)
#endif
#ifdef __NR_waitpid
ALLOW(waitpid)
#endif
#ifdef __NR_write
ALLOW(write)
#endif
#ifdef __NR_writev
ALLOW(writev)
#endif
