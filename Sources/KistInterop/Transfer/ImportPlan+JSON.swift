package import KistCore
internal import KistJSON

extension ImportPlan.Row {
  /// Returns the text of one JSON object, without the secret.
  package func json() -> Secret {
    JSONWriter.object { writer in
      writer.member("state", state.rawValue)
      writer.member("service", entry.credential.key.service)
      writer.member("account", entry.credential.key.account)
      writer.member("label", entry.credential.label)
      writer.member("place", entry.place)
    }
  }
}

extension ImportPlan {
  /// Returns the text of one JSON object with the results.
  package func json(saved: Int) -> Secret {
    JSONWriter.object { writer in
      writer.member("saved", saved)
      for state in State.allCases { writer.member(escaping: state.rawValue, count(state)) }
      writer.member("leftOut") { writer in
        for what in LeftOut.allCases {
          if let places = leftOut[what] { writer.member(escaping: what.rawValue, places.count) }
        }
      }
    }
  }
}
