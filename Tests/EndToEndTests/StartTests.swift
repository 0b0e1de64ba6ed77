import Foundation
import KistTesting
import Subprocess
import Testing

@Suite(.needs("a C compiler, to make a library", hasCompiler), .timeLimit(.minutes(2)))
struct `Starting kist or kistd` {
  @Test(arguments: [
    "kist --version", "kistd --version", "kistd fsck --data ~/none --key-file ~/key",
  ])
  func `reads the options correctly if a library sets a variable before main`(line: String)
    async throws
  {
    try await withHome { home in
      let library = try await compile(
        "#include <stdlib.h>\n__attribute__((constructor)) static void set(void) {"
          + #" setenv("KIST_NEW", "x", 1); }"#, in: home, "-shared", "-fPIC")
      let plain = try await command("sh", ["-c", line], in: home)
      let preloaded = try await command("sh", ["-c", "LD_PRELOAD=\(library) \(line)"], in: home)
      #expect(preloaded.status == plain.status, "\(preloaded.error)")
      #expect(preloaded.output == plain.output)
      #expect(preloaded.error == plain.error)
      #expect(!FileManager.default.fileExists(atPath: home.store))
    }
  }

  /// Before 1970, after 2262 (where nanoseconds overflow 64 bits), and after 9999.
  @Test(arguments: [-62_200_000_000, -1, 9_300_000_000, 300_000_000_000])
  func `works with a system clock far in the past or in the future`(seconds: Int) async throws {
    try await withHome { home in
      let library = try await compile(
        "#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n"
          + "int clock_gettime(clockid_t clock, struct timespec *time) {"
          + " int status = syscall(SYS_clock_gettime, clock, time);"
          + " if (clock == CLOCK_REALTIME) time->tv_sec = \(seconds); return status; }",
        in: home, "-shared", "-fPIC")
      let session = "printf pw | kist save s && kist load s && kist audit | grep -c '^[0-9]'"
      let end = try await command(
        "env", ["LD_PRELOAD=\(library)", "kistd", "--", "sh", "-c", session], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(end.output == "pw2\n", "\(end.output)")
    }
  }

  @Test(arguments: ["kist", "kistd", "kist-secret-service"])
  func `fails without a program name, and creates no file`(program: String) async throws {
    try await withHome { home in
      let starter = try await compile(
        "#include <unistd.h>\nint main(int count, char **words, char **variables) {"
          + " char *none[] = {0}; return execve(words[1], none, variables); }", in: home)
      let end = try await command("sh", ["-c", "exec \(starter) \(programs)/\(program)"], in: home)
      #expect(end.status == .exited(64))
      #expect(end.error.contains("without its name (argv[0])"), "\(end.error)")
      let made = try FileManager.default.subpathsOfDirectory(atPath: home.path)
      #expect(Set(made) == ["built", "run"])
    }
  }

  /// Compiles C source code and returns the path of the result.
  private func compile(_ source: String, in home: Home, _ options: String...) async throws -> String
  {
    let built = home.path + "/built"
    let end = try await command(
      "cc", options + ["-D_GNU_SOURCE", "-o", built, "-x", "c", "-"], in: home, input: source)
    try #require(end.status == .exited(0), "\(end.error)")
    return built
  }
}

private var hasCompiler: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/cc") }
