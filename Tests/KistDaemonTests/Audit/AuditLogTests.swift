import Foundation
import KistCore
import KistFile
import KistServer
import KistTesting
import KistWire
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(5))) struct `The audit log` {
  @Test func `has a line for each request, for this user alone`() async throws {
    try await withLog { log in
      let audit = log.open()
      await audit.seal(with: testSeal)
      audit.put("load", of: .sample, RequestedNames(.sample), failure: nil)
      audit.put("", of: Peer(pid: 7, uid: 33), failure: .badRequest)
      await audit.flush()
      let lines = try log.lines()
      try #require(lines.count == 2)
      let time = #/\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/#
      let first = try #require(lines[0].prefixMatch(of: time))
      #expect(
        lines[0][first.range.upperBound...].replacing(#/"microseconds":\d+/#, with: "")
          .hasPrefix(
            #","operation":"load","outcome":"ok",,"pid":42,"uid":\#(geteuid()),"#
              + #""unit":"app.service","claims":"psql","evidence":"pidfd","names":""#))
      #expect(lines[1].contains(#""outcome":"badRequest""#))
      #expect(lines[1].hasSuffix(#""pid":7,"uid":33,"evidence":"gone"}"#))
      #expect(mode(of: log.path) == 0o600)
      #expect(mode(of: log.directory + "/state") == 0o700)
    }
  }

  @Test func `is written by itself, and not at all without requests`() async throws {
    try await withLog { log in
      let audit = log.open(delay: .milliseconds(1))
      audit.put(1)
      while mode(of: log.path) == nil { try await Task.sleep(for: .milliseconds(5)) }
      audit.put(2)
      while try log.lines().count < 2 { try await Task.sleep(for: .milliseconds(5)) }
      #expect(log.recorder.lines.isEmpty)
    }
  }

  @Test func `has no names without a key, and none where nothing is named`() async throws {
    try await withLog { log in
      let audit = log.open()
      audit.put(1)
      await audit.seal(with: testSeal)
      audit.put("status", of: .sample, failure: nil)
      await audit.flush()
      try #expect(log.lines().count == 2)
      try #expect(!text(of: log.path).contains("names"))
    }
  }

  @Test func `does not exceed its limit if much is written at once`() async throws {
    try await withLog { log in
      let audit = log.open(limit: 64 << 10)
      for number in 0..<5000 { audit.put(number) }
      await audit.flush()
      let sizes = try [log.path, log.path + ".1"].map { try text(of: $0).utf8.count }
      #expect(sizes.reduce(0, +) <= 64 << 10)
      #expect(sizes.reduce(0, +) > 32 << 10)
    }
  }

  @Test func `has the number of requests that did not fit into the queue`() async throws {
    try await withLog { log in
      let audit = log.open(room: 4)
      // The queue is taken as soon as there is a quarter in it. All records fit into one page.
      for number in 0..<Limits.page { audit.put(number) }
      await audit.flush()
      let page = try await audit.lookup(nil)(AuditQuery())
      let lost = page.records.reduce(0) { sum, record in
        if case .lost(let count) = record.event { sum + count } else { sum }
      }
      #expect(lost > 0)
      #expect(page.records.count { $0.request != nil } + lost == Limits.page)
    }
  }

  @Test func `that cannot be written stops nothing, is reported once, and counts what it lost`()
    async throws
  {
    try await withLog { log in
      let audit = log.open()
      // A file where the directory should be.
      #expect(FileManager.default.createFile(atPath: log.directory + "/state", contents: nil))
      for number in 0..<3 {
        audit.put(number)
        await audit.flush()
      }
      #expect(log.recorder.lines.count == 1)
      #expect(
        log.recorder.lines.first?.hasPrefix("warning: cannot write the audit log") == true)
      try FileManager.default.removeItem(atPath: log.directory + "/state")
      audit.put(3)
      await audit.flush()
      #expect(log.recorder.lines.count == 2)
      let lines = try log.lines()
      try #require(lines.count == 2)
      #expect(lines[0].hasSuffix(#","lost":3}"#))
      #expect(lines[1].contains(#""operation":"load""#))
    }
  }

  @Test func `of a client has the operations of its lines, and its identity`() async throws {
    try await withLog { log in
      let audit = log.open()
      await audit.seal(with: testSeal)
      let dispatch = dispatch(KistWire.Endpoints(serving: .inMemory(now: { .sample })))
      let answer = KistWire.answer(with: dispatch, noting: audit.notes(of: .sample))
      _ = await answer(
        Line(Secret(utf8: #"{"op":"save","service":"s","account":"a","secret":"canary"}"#)))
      _ = await answer(Line(Secret(utf8: #"{"op":"load","service":"s"}"#)))
      _ = await answer(Line(Secret(utf8: "canary")))
      let records = try await audit.lookup(testSeal)(AuditQuery()).records.compactMap(\.request)
      #expect(records.map(\.operation) == [nil, "load", "save"])
      #expect(records.map(\.failure) == [.badRequest, .notFound, nil])
      #expect(
        records.map(\.names) == [
          nil, .open(RequestedNames(service: "s", account: "")),
          .open(RequestedNames(service: "s", account: "a")),
        ])
      #expect(records.allSatisfy { $0.peer.unit == "app.service" && $0.microseconds >= 0 })
      try #expect(!text(of: log.path).contains("canary"))
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The audit log beside an encrypted file` {
  private func open(_ log: TestLog) async throws -> OpenStorage {
    try await EncryptedFile.open(
      EncryptedFile.Options(
        path: log.directory + "/data/credentials.db",
        keySource: .keyFile(path: log.directory + "/key")))
  }

  @Test func `has the names of the requests before it was locked or closed, and no others`()
    async throws
  {
    try await withLog { log in
      let audit = log.open()
      var storage = try await open(log).audited(by: audit)
      audit.put(0)
      _ = try await storage.access.lock()
      audit.put(1)
      await audit.flush()
      _ = try await storage.access.unlock(nil)
      audit.put(2)
      await storage.close()
      audit.put(3)
      storage = try await open(log).audited(by: audit)
      audit.put(4)
      let records = try await audit.lookup(storage.nameSeal)(AuditQuery()).records
      #expect(records.map(\.number) == [4, nil, 2, nil, 0])
      await storage.close()
    }
  }

  @Test func `belongs to it: another store opens no name`() async throws {
    try await withLog { log in
      let audit = log.open()
      let storage = try await open(log).audited(by: audit)
      audit.put(0)
      await storage.close()
      try FileManager.default.removeItem(atPath: log.directory + "/data")
      let other = try await open(log).audited(by: audit)
      let records = try await audit.lookup(other.nameSeal)(AuditQuery()).records
      #expect(records.map(\.request?.names) == [.sealed(.corrupt)])
      await other.close()
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The queue of the audit log` {
  private func event(_ number: Int) -> AuditEvent {
    var note = RequestNotes.Note()
    note.operation = "\(number)"
    return AuditEvent(client: AuditLineWriter.Client(.sample), note: note)
  }

  @Test func `holds a limited number, counts the others, and is empty once they are taken`() {
    let queue = AuditQueue(room: 8)
    let next = (0..<11).map { queue.put(event($0)) }
    #expect(next[0] == .writeSoon)
    #expect(next[1] == .writeNow)
    #expect(next[2...].allSatisfy { $0 == .nothing })
    let batch = queue.take()
    #expect(batch.events.map(\.note.operation) == (0..<8).map { "\($0)" })
    #expect(batch.lost == 3)
    #expect(queue.take().isEmpty)
  }

  @Test func `requests one write soon, which continues while events come`() {
    let queue = AuditQueue(room: 800)
    #expect(queue.put(event(0)) == .writeSoon)
    #expect(queue.put(event(1)) == .nothing)
    #expect(queue.takeInTime().events.count == 2)
    #expect(queue.put(event(2)) == .nothing)
    #expect(queue.take().events.count == 1)
    #expect(queue.put(event(3)) == .nothing)
    #expect(queue.takeInTime().events.count == 1)
    #expect(queue.takeInTime().isEmpty)
    #expect(queue.put(event(4)) == .writeSoon)
  }

  @Test func `has the time of a request, to the millisecond`() {
    let before = Timestamp.now()
    let moment = AuditClock().moment(of: .now())
    #expect(moment.second >= before)
    #expect(moment.second <= Timestamp.now())
    #expect((0..<1000).contains(moment.milliseconds))
  }

  @Test(arguments: [
    (-62_200_000_000, "1970-01-01T00:00:00Z"), (-1, "1970-01-01T00:00:00Z"),
    (1_795_168_800, "2026-11-20T10:00:00Z"), (9_300_000_000, "2264-09-14T21:20:00Z"),
    (253_402_300_799, "9999-12-31T23:59:59Z"), (.max, "9999-12-31T23:59:59Z"),
    (.min, "1970-01-01T00:00:00Z"),
  ])
  func `has the time of a request for any clock`(seconds: Int, expected: String) {
    let tick = SystemTick(nanoseconds: 5_000_000_000)
    let clock = AuditClock(time: timespec(tv_sec: seconds, tv_nsec: 0), tick: tick)
    #expect("\(clock.moment(of: tick).second)" == expected)
    let later = clock.moment(of: SystemTick(nanoseconds: tick.nanoseconds + 7_000_000))
    #expect(later.milliseconds == 7)
    let earlier = clock.moment(of: SystemTick(nanoseconds: tick.nanoseconds - 1_000_000))
    #expect(earlier.milliseconds == 999)
  }
}
