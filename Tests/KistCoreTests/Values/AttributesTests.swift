import KistCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct AttributesTests {
  @Test func `attributes are equal by the bytes of their values`() {
    let composed: Attributes = ["name": "é"]
    let decomposed: Attributes = ["name": "e\u{301}"]
    #expect(composed == ["name": "é"])
    #expect(composed != decomposed)
    #expect(composed != [:])
    #expect(composed != ["name": "é", "other": ""])
    #expect(composed != ["Name": "é"])
  }

  @Test func `attributes are contained in others that have them all`() {
    let all: Attributes = ["a": "1", "b": "2", "c": ""]
    for part: Attributes in [[:], ["a": "1"], ["c": ""], ["b": "2", "c": ""], all] {
      #expect(part.areContained(in: all))
    }
    for other: Attributes in [["a": "2"], ["d": ""], ["A": "1"], ["a": "1", "d": ""]] {
      #expect(!other.areContained(in: all))
    }
  }

  @Test func `attributes are sorted by the bytes of their names`() {
    let attributes: Attributes = ["b": "1", "a": "2", "B": "3", "ab": "4", "~": "5", " ": "6"]
    #expect(attributes.sorted.map(\.name) == [" ", "B", "a", "ab", "b", "~"])
    #expect(attributes.sorted.map(\.value) == ["6", "3", "2", "4", "1", "5"])
  }

  @Test func `a name is set, replaced and removed`() {
    var attributes: Attributes = ["a": "1", "a": "2"]
    #expect(attributes["a"] == "2")
    attributes["b"] = "3"
    #expect(attributes.count == 2)
    attributes["a"] = nil
    #expect(attributes == Attributes(["b": "3"]))
    attributes["b"] = nil
    #expect(attributes.isEmpty)
  }

  @Test func `merged attributes have the other values where a name is in both`() {
    let attributes: Attributes = ["a": "1", "b": "2"]
    #expect(attributes.merging(["b": "3", "c": "4"]) == ["a": "1", "b": "3", "c": "4"])
    #expect(attributes.merging([:]) == attributes)
  }
}
