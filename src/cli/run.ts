/** `troupe dev` and `troupe serve`: loads the application's module, serves it, and shuts down gracefully. */
import { existsSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setDefaultMode } from '../config/env.ts'
import type { Mode } from '../config/options.ts'
import { codeFolder } from '../release.ts'
import { App } from '../troupe.ts'
import { watchUnhandledErrors } from './unhandled-errors.ts'
import { stopSignal } from './stop-signal.ts'
import { UsageError } from './usage-error.ts'
import { welcome } from './welcome.ts'

/** Folder of this service's own code. */
const ownFolder = fileURLToPath(codeFolder)

export async function run(mode: Mode, args: readonly string[]): Promise<number> {
  const [file, ...more] = args
  const command = mode === 'development' ? 'dev' : 'serve'
  if (file === undefined || more.length > 0)
    throw new UsageError(`Cannot run troupe ${command}: expected one module, as in troupe ${command} app.ts`)
  setDefaultMode(mode)
  const app = await load(file)
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

async function load(file: string): Promise<App> {
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`Cannot load ${path}: the file does not exist.`)
  const module: unknown = await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new UsageError(`Cannot load ${path}: ${describe(error)}`, { cause: error })
  })
  const app = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
  if (!(app instanceof App))
    throw new UsageError(`Cannot run ${path}: it must export an application by default: export default troupe({ … })`)
  return app
}

/** Returns the error message and, when a file of the application caused it, the file and line. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const message = error.message.split('\n', 1)[0] ?? ''
  const places = (error.stack ?? '').matchAll(/(?:^|[\s(]|file:\/\/)((?:\/|[A-Z]:\\)[^\n()]*?):(\d+)(?::\d+)?\)?$/gm)
  // Declarations are validated in this service's code; the first other file of the stack contains the declaration.
  const place = [...places].find(([, file]) => file?.startsWith(ownFolder) === false)
  return place === undefined ? message : `${message} (${place[1]}:${place[2]})`
}
