internal import KistCore
internal import KistFile
internal import KistJSON

extension FsckReport {
  /// The report for a program: one object on one line.
  var json: Secret {
    JSONWriter.object { writer in
      writer.member("store", store)
      writer.member("state", state.rawValue)
      writer.member("counted", examination.counted)
      writer.member("found", examination.found)
      writer.member("good", examination.locked == nil ? examination.good : nil)
      writer.member("faults", arrayOf: examination.faults) { fault, writer in
        writer.braced { writer in
          writer.member("part", fault.part.rawValue)
          writer.member("service", fault.key?.service)
          writer.member("account", fault.key?.account)
          writer.member("message", fault.message)
        }
      }
      if !notes.isEmpty {
        writer.member("notes", arrayOf: notes) { note, writer in writer.element(note) }
      }
      if let locked = examination.locked {
        writer.member(
          "locked",
          object: { writer in
            writer.member("code", locked.code.rawValue)
            writer.member("message", locked.message)
          })
      }
      writer.member("copied", copies?.count)
    }
  }
}
