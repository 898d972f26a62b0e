/** The output of the demo: plain text, with colors on a terminal. */
const isTerminal = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === ''

export function tell(chapter: string): void {
  console.log(`\n${isTerminal ? `\u001B[1;36m${chapter}\u001B[0m` : chapter}`)
}

export function say(sentence: string): void {
  console.log(`  ${sentence}`)
}
