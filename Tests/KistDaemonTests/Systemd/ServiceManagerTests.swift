import Foundation
import KistSystem
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `A service manager` {
  /// A socket that takes datagrams, and gives them as text.
  final class Listener {
    let descriptor: Int32

    init(_ path: [UInt8]) {
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      let result = unsafe withAddress(path) { unsafe bind(descriptor, $0, $1) }
      precondition(result == 0)
    }

    deinit { close(descriptor) }

    func receive() -> String {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }
  }

  @Test(arguments: [
    (ServiceManager.Notice.ready, "READY=1"), (.stopping, "STOPPING=1"), (.watchdog, "WATCHDOG=1"),
    (.reloading(microseconds: 7), "RELOADING=1\nMONOTONIC_USEC=7"),
    (.status("locked\nREADY=1"), "STATUS=locked\\u{a}READY=1"),
  ])
  func `receives the lines of sd_notify, at a path or a name`(
    notice: ServiceManager.Notice, text: String
  ) async throws {
    try await withDirectory { directory in
      let atPath = Listener(Array((directory + "/n").utf8))
      ServiceManager(environment: { ["NOTIFY_SOCKET": directory + "/n"][$0] }).notify(notice)
      #expect(atPath.receive() == text)
      let atName = Listener([0] + Array(directory.utf8))
      ServiceManager(environment: { ["NOTIFY_SOCKET": "@" + directory][$0] }).notify(notice)
      #expect(atName.receive() == text)
    }
  }

  @Test(
    arguments: [
      nil, "", "relative", "/", "@", "vsock:2:1", "/" + String(repeating: "x", count: 200),
    ] as [String?])
  func `is none without a valid address`(address: String?) {
    #expect(address.flatMap(NotifySocketAddress.init) == nil)
    let manager = ServiceManager(environment: { $0 == "NOTIFY_SOCKET" ? address : nil })
    manager.notify(.ready)
  }

  @Test(
    arguments: [
      (["WATCHDOG_USEC": "3000000"], Duration.seconds(3)),
      (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "42"], .seconds(3)),
      (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "43"], nil),
      (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "x"], nil), ([:], nil),
    ] as [([String: String], Duration?)])
  func `sets the interval of the watchdog`(environment: [String: String], interval: Duration?) {
    let manager = ServiceManager(
      environment: { name in name == "NOTIFY_SOCKET" ? "/nonexistent" : environment[name] }, pid: 42
    )
    #expect(manager.watchdogInterval == interval)
    // Nobody hears it, and nothing happens.
    manager.notify(.watchdog)
  }

  private func monotonicMicroseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec / 1000)
  }

  @Test func `receives the time of a reload on its own clock`() throws {
    let before = monotonicMicroseconds()
    guard case .reloading(let told) = ServiceManager.Notice.reloadingNow() else {
      throw CancellationError()
    }
    #expect((before...monotonicMicroseconds()).contains(told))
  }

  @Test func `has a journal if standard error leads to it, with priorities before lines`()
    async throws
  {
    var status = stat()
    #expect(unsafe fstat(STDERR_FILENO, &status) == 0)
    let here = "\(status.st_dev):\(status.st_ino)"
    #expect(isJournal(STDERR_FILENO) { $0 == "JOURNAL_STREAM" ? here : nil })
    #expect(!isJournal(STDERR_FILENO) { $0 == "JOURNAL_STREAM" ? here + "0" : nil })
    #expect(!isJournal(STDERR_FILENO) { _ in nil })
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let standardError = StandardError(isJournal: true)
      standardError.write("one", level: .error)
      standardError.write("two", level: .info)
      StandardError().write("three", level: .info)
      exit(0)
    }
    let log = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(log == "<3>one\n<6>two\nthree\n")
  }
}
