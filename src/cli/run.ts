/** `troupe dev` and `troupe serve`: reads their arguments, and runs the application's module. */
import { setDefaultMode } from '../config/env.ts'
import type { Mode } from '../config/option.ts'
import { UsageError } from './usage-error.ts'

export async function runDevelopment(args: readonly string[]): Promise<number> {
  const words = args.filter((word) => !word.startsWith('-'))
  const unknown = args.find((word) => word.startsWith('-') && word !== '--no-watch' && word !== '--watched')
  if (unknown !== undefined)
    throw new UsageError(`Unknown option ${unknown} of troupe dev: troupe dev --help lists the options.`)
  const file = moduleOf('dev', words)
  // A process without the right to start others serves without watching.
  const mayWatch = process.permission === undefined || process.permission.has('child')
  if (args.includes('--no-watch') || !mayWatch) return run('development', file)
  if (args.includes('--watched')) return (await import('./dev/run-watched.ts')).runWatched(file)
  return (await import('./dev/dev.ts')).dev(file)
}

export async function runProduction(args: readonly string[]): Promise<number> {
  return run('production', moduleOf('serve', args))
}

function moduleOf(command: string, [file, ...more]: readonly string[]): string {
  if (file === undefined || more.length > 0)
    throw new UsageError(`Cannot run troupe ${command}: expected one module, as in troupe ${command} app.ts`)
  return file
}

async function run(mode: Mode, file: string): Promise<number> {
  setDefaultMode(mode)
  // The process of `troupe dev` that watches needs none of the code of a service.
  const [{ loadApplication }, { serve }] = await Promise.all([import('./load-application.ts'), import('./serve.ts')])
  return serve(await loadApplication(file))
}
