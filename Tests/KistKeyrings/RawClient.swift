/// A program in Python that writes and reads the bytes of messages itself.
package enum RawClient {
  /// Returns the beginning of the program, which connects to the socket of a bus.
  ///
  /// It prints nothing. A reply that is an error ends it.
  ///
  /// - Parameter order: `>` for big-endian messages, `<` for little-endian ones.
  package static func program(order: String) -> String {
    """
    import os, re, socket, struct, sys
    bus = socket.socket(socket.AF_UNIX)
    bus.connect(sys.argv[1])
    bus.sendall(b"\\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\\r\\n")
    stream = bus.makefile("rb")
    assert stream.readline().startswith(b"OK")
    bus.sendall(b"NEGOTIATE_UNIX_FD\\r\\n")
    assert stream.readline().startswith(b"AGREE_UNIX_FD")
    bus.sendall(b"BEGIN\\r\\n")

    def pad(data, size): return data + bytes(-len(data) % size)
    def array(data, content): return pad(data, 4) + struct.pack("\(order)I", len(content)) + content
    def text(data, content): return array(data, content.encode()) + b"\\0"
    def signature(data, types): return data + bytes([len(types)]) + types.encode() + b"\\0"

    def call(number, destination, path, interface, member, types="", body=b"", descriptors=0):
        fields = b""
        for code, kind, value in [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)]:
            fields = text(signature(pad(fields, 8) + bytes([code]), kind), value)
        if types:
            fields = signature(signature(pad(fields, 8) + bytes([8]), "g"), types)
        if descriptors:
            fields = pad(signature(pad(fields, 8) + bytes([9]), "u"), 4) + struct.pack("\(order)I", descriptors)
        head = b"\(order == ">" ? "B" : "l")\\1\\0\\1" + struct.pack("\(order)III", len(body), number, len(fields)) + fields
        return pad(head, 8) + body

    def reply():
        while True:
            head = stream.read(16)
            order = "<" if head[:1] == b"l" else ">"
            size, _, fields = struct.unpack(order + "III", head[4:])
            rest = stream.read(fields + -fields % 8 + size)
            assert head[1] != 3, rest
            if head[1] == 2: return rest[fields + -fields % 8:]

    bus.sendall(call(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"))
    reply()
    """
  }
}
