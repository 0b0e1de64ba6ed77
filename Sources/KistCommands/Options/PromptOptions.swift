internal import ArgumentParser

/// The option that turns off prompts.
package struct PromptOptions: ParsableArguments {
  @Flag(help: "Ask nobody to unlock what is locked.")
  package var noPrompt = false

  package init() {}
}
