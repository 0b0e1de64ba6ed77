import KistSystem
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A uid represents other users too` {
  private static let everybody = "         0          0 4294967295\n"
  private static let one = "      1000       1000          1\n"
  private static let container = "0 1000 1\n1 100000 65536\n"

  @Test(arguments: [one, container, "", nil])
  func `may be of any other user in a namespace that does not map all users`(map: String?) {
    #expect(representsOtherUsers(uid: 65534, overflowUID: "65534\n", map: map))
    #expect(representsOtherUsers(uid: 65534, overflowUID: nil, map: map))
    #expect(representsOtherUsers(uid: 7, overflowUID: "7\n", map: map))
  }

  @Test(arguments: [0, 1000, 65533, 65535] as [UInt32], [everybody, one, container, "", nil])
  func `and no other one`(uid: UInt32, map: String?) {
    #expect(!representsOtherUsers(uid: uid, overflowUID: "65534\n", map: map))
  }

  @Test(arguments: [everybody, "0 0 65534\n65534 65534 4294901761\n"])
  func `and none where everybody has one`(map: String) {
    #expect(!representsOtherUsers(uid: 65534, overflowUID: "65534\n", map: map))
  }
}
