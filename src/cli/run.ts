/** `troupe dev` and `troupe serve`: loads the application's module, serves it, and shuts down gracefully. */
import { flushCompileCache } from 'node:module'
import { setDefaultMode } from '../config/env.ts'
import type { Mode } from '../config/options.ts'
import { loadApplication } from './load-application.ts'
import { watchUnhandledErrors } from './unhandled-errors.ts'
import { stopSignal } from './stop-signal.ts'
import { UsageError } from './usage-error.ts'
import { welcome } from './welcome.ts'

export async function run(mode: Mode, args: readonly string[]): Promise<number> {
  const [file, ...more] = args
  const command = mode === 'development' ? 'dev' : 'serve'
  if (file === undefined || more.length > 0)
    throw new UsageError(`Cannot run troupe ${command}: expected one module, as in troupe ${command} app.ts`)
  setDefaultMode(mode)
  const app = await loadApplication(file)
  const listening = await app.listen()
  // Installed before the first output, because a reader of the output may send the signal at once.
  const stop = stopSignal(process)
  const { parts } = await app.running()
  const broken = watchUnhandledErrors(parts.log).then(() => 1)
  process.stdout.write(welcome(parts, listening.url))
  // Node.js writes the cache at the exit, so a killed process would write none. A complete cache is not written again.
  flushCompileCache()
  const code = await Promise.race([stop.then(() => 0), broken])
  process.stdout.write('\nStopping: waiting for running requests.\n')
  await listening.stop()
  process.stdout.write('Stopped.\n')
  return code
}
