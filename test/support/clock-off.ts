/** A process on a machine whose clock is wrong. */

/** For the environment of a process, whose clock it sets. */
export function clockOff(byMs: number): Record<string, string> {
  const code = `const real = Date
globalThis.Date = class extends real {
  constructor(...given) { given.length === 0 ? super(real.now() + ${byMs}) : super(...given) }
  static now() { return real.now() + ${byMs} }
}`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}
