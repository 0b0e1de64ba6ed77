import CCalls
import CLinux
import Glibc

/// A system call that a process that is confined cannot make.
enum RefusedCall: String, CaseIterable, Codable {
  // Programs and processes.
  case execve, execveat, clone, cloneOfANamespace, clone3
  // Namespaces and the personality.
  case unshare, setns, personality
  // Memory that is code.
  case mmapOfCode, mprotectToCode, pkeyMprotectToCode, shmat, memfdCreate
  // Networks.
  case internetSocket, internet6Socket, netlinkSocket, internetSocketPair
  // The terminal's input.
  case typingIntoTheTerminal, pastingIntoTheTerminal
  // What makes calls that no filter sees, or reaches into other processes.
  case ioUringSetup, ioUringEnter, ioUringRegister, userfaultfd
  case ptrace, processVMRead, processVMWrite, processMadvise, prlimitOfAnotherProcess
  // The kernel's keys.
  case addKey, requestKey, keyctl
  // Privileges.
  case mount, chroot, bpf, setuid, chown, reboot
  // More rules for itself.
  case seccomp, landlockCreateRuleset, landlockAddRule, landlockRestrictSelf
  // Newer calls.
  case newerCall
  #if arch(x86_64)
    // Calls that other architectures lack, and those of another calling convention.
    case fork, x32
  #endif

  /// The error of the refusal.
  var refusal: CInt { self == .clone3 || self == .newerCall ? ENOSYS : EPERM }

  /// Makes the call, so that it does nothing where it is possible; returns its error number, or 0.
  func make() -> CInt {
    let process = Int(getpid())
    let path = unsafe Int(bitPattern: strdup("/nonexistent"))
    let page = unsafe Int(
      bitPattern: mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    return switch self {
    case .execve: call(SYS_execve, path)
    case .execveat: call(SYS_execveat, -1, path)
    case .clone: call(SYS_clone, Int(SIGCHLD))
    case .cloneOfANamespace: call(SYS_clone, Int(SIGCHLD) | 0x0800_0000)
    case .clone3: call(SYS_clone3)
    case .unshare: call(SYS_unshare)
    case .setns: call(SYS_setns, -1)
    case .personality: call(SYS_personality, 0xFFFF_FFFF)
    case .mmapOfCode:
      call(SYS_mmap, 0, 4096, Int(PROT_READ | PROT_EXEC), Int(MAP_PRIVATE) | 0x20, -1)
    case .mprotectToCode: call(SYS_mprotect, page, 4096, Int(PROT_READ | PROT_EXEC))
    case .pkeyMprotectToCode: call(SYS_pkey_mprotect, page, 4096, Int(PROT_READ | PROT_EXEC), -1)
    case .shmat: call(SYS_shmat, -1)
    case .memfdCreate: call(SYS_memfd_create, path)
    case .internetSocket: call(SYS_socket, Int(AF_INET), 1)
    case .internet6Socket: call(SYS_socket, Int(AF_INET6), 1)
    case .netlinkSocket: call(SYS_socket, 16, 3)
    case .internetSocketPair: call(SYS_socketpair, Int(AF_INET), 1, 0, page)
    case .typingIntoTheTerminal: call(SYS_ioctl, -1, 0x5412)
    case .pastingIntoTheTerminal: call(SYS_ioctl, -1, 0x541C)
    case .ioUringSetup: call(SYS_io_uring_setup)
    case .ioUringEnter: call(SYS_io_uring_enter, -1)
    case .ioUringRegister: call(SYS_io_uring_register, -1)
    case .userfaultfd: call(SYS_userfaultfd, -1)
    case .ptrace: call(SYS_ptrace, 7, process)
    case .processVMRead: call(SYS_process_vm_readv, process)
    case .processVMWrite: call(SYS_process_vm_writev, process)
    case .processMadvise: call(SYS_process_madvise, -1)
    case .prlimitOfAnotherProcess: call(SYS_prlimit64, Int(getppid()), Int(RLIMIT_CORE.rawValue))
    case .addKey: call(SYS_add_key)
    case .requestKey: call(SYS_request_key)
    case .keyctl: call(SYS_keyctl, 0, -3)
    case .mount: call(SYS_mount, path, path)
    case .chroot: call(SYS_chroot, path)
    case .bpf: call(SYS_bpf, 0)
    case .setuid: call(SYS_setuid, Int(getuid()))
    case .chown: call(SYS_fchownat, Int(AT_FDCWD), path)
    case .reboot: call(SYS_reboot)
    case .seccomp: call(SYS_seccomp, 2)
    case .landlockCreateRuleset: call(SYS_landlock_create_ruleset)
    case .landlockAddRule: call(SYS_landlock_add_rule, -1)
    case .landlockRestrictSelf:
      // Without this, the kernel itself refuses the call to a user.
      kist_forbid_new_privileges() == 0 ? call(SYS_landlock_restrict_self, -1) : -1
    case .newerCall: call(451, -1)
    #if arch(x86_64)
      case .fork: call(SYS_fork)
      case .x32: call(0x4000_0000 + SYS_getpid)
    #endif
    }
  }
}

private func call(
  _ number: CInt, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0, _ d: Int = 0, _ e: Int = 0
)
  -> CInt
{ kist_call(Int(number), a, b, c, d, e) }
