import Foundation
import KistCore
import KistSystem
import KistTesting
import Synchronization
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The start of kistd` {
  @Test(arguments: [
    ([:], true), (["KIST_AUTOSTART": "1"], true), (["KIST_AUTOSTART": "0"], false),
    (["KIST_SOCKET": "/s"], false), (["KIST_SOCKET": ""], true),
  ])
  func `is left out if the user turned it off or named the socket`(
    variables: [String: String], isWanted: Bool
  ) {
    var machine = Machine.healthy
    machine.variables = variables
    #expect((Autostart(at: "/run/user/7/kist/kist.sock", on: machine.host) != nil) == isWanted)
  }

  struct Case: Sendable {
    enum Way { case unit, program }
    var unit: [String]
    var fails = false
    var output = ""
    var status: CInt = 0
    var way: Way?
    var error = ""
  }

  @Test(arguments: [
    Case(unit: ["LoadState=loaded", "Listen=SOCKET (Stream)"], way: .unit),
    Case(unit: ["LoadState=loaded", "Listen=/run/user/8/kist/kist.sock (Stream)"], way: .program),
    Case(unit: ["LoadState=not-found"], way: .program),
    Case(unit: [], way: .program),
    Case(unit: ["LoadState=masked"], error: "its unit is masked"),
    Case(
      unit: ["LoadState=loaded", "Listen=SOCKET (Stream)"], fails: true, way: .unit,
      error: "systemd could not start kistd.socket"),
    Case(
      unit: [], fails: true, output: "kistd: notice: x\nkistd: no space\nhint: free some\n",
      status: 13, way: .program, error: "kistd did not start: no space"),
    Case(
      unit: [], fails: true, status: 64, way: .program,
      error: "kistd did not start: it ended with status 64"),
  ])
  func `uses the unit that listens at the socket, and otherwise the program, once`(
    expected: Case
  ) throws {
    let directory = "/tmp/kist-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let socket = directory + "/kist.sock"
    let ways = Mutex<[Case.Way]>([])
    var machine = Machine.healthy
    machine.unit = expected.unit.map { $0.replacing("SOCKET", with: socket) }
    machine.whenUnitStarts = { ways.withLock { $0.append(.unit) } }
    var autostart = try #require(Autostart(at: socket, on: machine.host))
    autostart.isListening = { _ in !expected.fails && ways.withLock { !$0.isEmpty } }
    autostart.runApart = { words throws(StorageError) in
      #expect(words == ["/usr/bin/kistd", "--detach", "--socket", socket])
      ways.withLock { $0.append(.program) }
      return (expected.output, expected.status)
    }
    let find = autostart.findOnce
    for _ in 1...2 {
      do throws(StorageError) {
        #expect(try find() == socket)
        #expect(expected.error == "")
      } catch { #expect(error.message.hasSuffix(expected.error)) }
    }
    #expect(ways.withLock { $0 } == [expected.way].compactMap(\.self))
  }

  @Test(arguments: [nil, "/srv/store"])
  func `shows the notice of a new store and no other line, and if named, also to scripts`(
    data: String?
  ) throws {
    let directory = "/tmp/kist-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let started = Mutex(false)
    let shown = Mutex<[String]>([])
    var machine = Machine.healthy
    machine.variables["KISTD_DATA"] = data
    var autostart = try #require(
      Autostart(at: directory + "/kist.sock", on: machine.host))
    autostart.isListening = { _ in started.withLock { $0 } }
    autostart.runApart = { _ throws(StorageError) in
      started.withLock { $0 = true }
      return ("kistd: info: confined\nkistd: notice: made a new store, S\n", 0)
    }
    autostart.show = { message, isForScripts in
      #expect(isForScripts == (data != nil))
      shown.withLock { $0.append(message) }
    }
    _ = try autostart.findOnce()
    #expect(shown.withLock { $0 } == ["kistd made a new store, S"])
  }

  @Test(arguments: [
    ([], "/usual"), (["LoadState=loaded", "Listen=/usual (Stream)"], "/claimed"),
  ])
  func `leaves out the kistd of a unit while another one serves the storage`(
    unit: [String], socket: String
  ) throws {
    let directory = "/tmp/kist-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let claim = directory + "/served"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    let file = try openOwnFile(claim, O_RDWR | O_CREAT)
    defer { close(file) }
    #expect(takeLock(file, attempts: 1) && writeLockText("/claimed\n", to: file))
    var machine = Machine.healthy
    (machine.variables, machine.unit) = (["KISTD_DATA": directory], unit)
    var autostart = try #require(Autostart(at: "/usual", on: machine.host))
    autostart.isListening = { _ in true }
    #expect(autostart.running() == socket)
    #expect((autostart.servedElsewhere() ?? "/usual") == socket)
    #expect(flock(file, LOCK_UN) == 0 && autostart.running() == "/usual")
  }
}
