import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(10))) struct `The ranges that are searched for rows` {
  @Test func `are halved evenly where no row is found`() {
    var ranges = [AddressRange.whole]
    var lows: [Int64] = []
    while let range = ranges.popLast() {
      lows.append(range.low)
      ranges +=
        AddressRange(low: range.low, high: range.high, emptySplits: range.emptySplits + 1).halves
    }
    lows.sort()
    let whole = AddressRange.whole.high - AddressRange.whole.low
    let widest = zip(lows, lows.dropFirst()).map { $1 - $0 }.max()
    #expect(lows.count < 1000)
    #expect((widest ?? whole) <= whole / 100)
  }
}
