/** Serves an application until a stop signal, and shuts down gracefully. */
import { flushCompileCache } from 'node:module'
import type { App } from '../troupe.ts'
import { stopSignal } from './stop-signal.ts'
import { watchUnhandledErrors } from './unhandled-errors.ts'
import { firstOperatorText, welcome } from './welcome.ts'
import { print, printText } from './output.ts'

export interface Serving {
  /** Prints neither the welcome nor the end. */
  readonly isQuiet?: boolean
  /** @param freePort The port, when the system chose it. */
  readonly onReady?: (freePort: number | null) => void
  /** Ends the service like a stop signal. Default: never. */
  readonly end?: Promise<void>
  /** Resolves when the service must not wait longer for running requests after `end`. */
  readonly longestEnd?: () => Promise<void>
}

/** Prints a message for a person, or one line of JSON like those of the log. */
function say(text: string, isJson: boolean): void {
  if (!isJson) return printText(text)
  print(JSON.stringify({ level: 'info', time: new Date().toISOString(), msg: text.trim() }))
}

/** Serves until a stop signal, or an error outside of any request. */
export async function serve(app: App, { isQuiet = false, onReady, end, longestEnd }: Serving = {}): Promise<number> {
  const listening = await app.listen()
  // Installed before the first output, because a reader of the output may send the signal at once.
  const stop = stopSignal(process)
  const { parts } = await app.running()
  const broken = watchUnhandledErrors(parts.log).then(() => 1)
  const isJson = parts.config.mode === 'production' && parts.config.logFormat === 'json'
  if (!isQuiet) say(welcome(parts, listening.url), isJson)
  // Text on standard error: a field of the log would stay where others search it.
  if (parts.config.mode === 'production') printText(await firstOperatorText(parts), process.stderr)
  let isStopping = false
  // Reported beside the service, which serves everything else meanwhile.
  void parts.providers.problems().then((problems) => {
    if (!isStopping) for (const problem of problems) parts.log.warn(problem, 'People cannot sign in at a provider')
  })
  onReady?.(parts.config.port === 0 ? Number(new URL(listening.url).port) : null)
  // Node.js writes the cache at the exit, so a killed process would write none. A complete cache is not written again.
  flushCompileCache()
  const replaced = end?.then(() => null)
  const code = await Promise.race([stop.then(() => 0), broken, ...(replaced === undefined ? [] : [replaced])])
  isStopping = true
  if (code === null) {
    await Promise.race([listening.stop(), longestEnd?.()])
    return 0
  }
  say('\nStopping: waiting for running requests.\n', isJson)
  await listening.stop()
  say('Stopped.\n', isJson)
  return code
}
