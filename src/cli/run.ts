/** `troupe dev` and `troupe serve`: loads the application's module, serves it, and ends in order. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setDefaultMode } from '../config/env.ts'
import type { Mode } from '../config/options.ts'
import { App } from '../troupe.ts'
import { watchLateFaults } from './unhandled-errors.ts'
import { stopSignal } from './stop-signal.ts'
import { UsageError } from './usage-error.ts'
import { welcome } from './welcome.ts'

/** Of this service's own code. */
const ownFolder = `${dirname(import.meta.dirname)}/`

export async function run(mode: Mode, args: readonly string[]): Promise<number> {
  const [file, ...more] = args
  const command = mode === 'development' ? 'dev' : 'serve'
  if (file === undefined || more.length > 0)
    throw new UsageError(`troupe ${command} needs one module: troupe ${command} app.ts`)
  setDefaultMode(mode)
  const app = await load(file)
  const listening = await app.listen()
  // Before the first word: whoever reads it may already want to stop.
  const stop = stopSignal(process)
  const { parts } = await app.running()
  const broken = watchLateFaults(parts.log).then(() => 1)
  process.stdout.write(welcome(parts, listening.url))
  const code = await Promise.race([stop.then(() => 0), broken])
  process.stdout.write('\nStopping: running requests may end.\n')
  await listening.stop()
  process.stdout.write('Stopped.\n')
  return code
}

async function load(file: string): Promise<App> {
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`There is no module ${path}.`)
  const module: unknown = await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new UsageError(`Cannot load ${path}: ${describe(error)}`, { cause: error })
  })
  const app = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined
  if (!(app instanceof App))
    throw new UsageError(`${path} does not export an application: export default troupe({ … })`)
  return app
}

/** What went wrong and, where a file of the application is to blame, in which line. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const message = error.message.split('\n', 1)[0] ?? ''
  const places = (error.stack ?? '').matchAll(/(?:^|[\s(]|file:\/\/)((?:\/|[A-Z]:\\)[^\n()]*?):(\d+)(?::\d+)?\)?$/gm)
  // What the application declares is checked here, and is written there.
  const place = [...places].find(([, file]) => file?.startsWith(ownFolder) === false)
  return place === undefined ? message : `${message} (${place[1]}:${place[2]})`
}
