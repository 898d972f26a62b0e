/** Starts processes whose clock is wrong. */

/** Returns environment variables that shift the clock of a process by `byMs` milliseconds. */
export function clockOff(byMs: number): Record<string, string> {
  const code = `const real = Date
globalThis.Date = class extends real {
  constructor(...given) { given.length === 0 ? super(real.now() + ${byMs}) : super(...given) }
  static now() { return real.now() + ${byMs} }
}`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}
