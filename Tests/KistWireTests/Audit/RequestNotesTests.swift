import KistCore
import KistTesting
import KistWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The notes of requests` {
  /// What is noted of some lines.
  private func notes(of lines: [String]) async -> [RequestNotes.Note] {
    let notes = Mutex<[RequestNotes.Note]>([])
    let answer = answer(
      with: dispatch(Endpoints(serving: .inMemory())),
      noting: RequestNotes(now: { 0 }) { note in notes.withLock { $0.append(note) } })
    for line in lines { _ = await answer(Line(Secret(utf8: line))) }
    return notes.withLock { $0 }
  }

  @Test func `keep names that are not too long for a credential`() async {
    let (longest, longer) = (
      String(repeating: "s", count: Limits.keyPart), String(repeating: "s", count: 1 << 19)
    )
    let notes = await notes(of: [
      #"{"op":"load","service":"\#(longest)"}"#, #"{"op":"load","service":"\#(longer)"}"#,
      #"{"op":"load","service":"s","account":"\#(longer)"}"#, #"{"op":"find","limit":1}"#,
      #"{"op":"find","account":"\#(longest)"}"#,
    ])
    #expect(notes.map(\.failure) == [.notFound, .tooLarge, .tooLarge, nil, nil])
    #expect(
      notes.map(\.names) == [
        RequestedNames(service: longest, account: ""), nil, nil, nil,
        RequestedNames(service: nil, account: longest),
      ])
  }
}
