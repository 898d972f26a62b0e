/** `troupe actors seed`: runs a module that creates actors and their data. */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setDefaultMode } from '../../config/env.ts'
import type { Seed } from '../../troupe.ts'
import { commandArgs } from '../command-args.ts'
import { loadApplication, loadProblem } from '../load-application.ts'
import { print } from '../output.ts'
import { UsageError } from '../usage-error.ts'

export async function seedActors(args: readonly string[]): Promise<number> {
  const { words } = commandArgs('troupe actors seed', args, {})
  const [module, given, ...more] = words
  if (module === undefined || more.length > 0)
    throw new UsageError('Cannot run troupe actors seed: expected one module, and at most one seed file.')
  setDefaultMode('development')
  const app = await loadApplication(module)
  const seed = await loadSeed(given === undefined ? join(dirname(resolve(module)), 'seed.ts') : resolve(given))
  try {
    await app.start()
    await seed({ app, actors: app.actors })
    await (await app.running()).settled()
  } finally {
    await app.close()
  }
  print('Seeded.')
  return 0
}

async function loadSeed(path: string): Promise<Seed> {
  if (!existsSync(path)) throw new UsageError(`Cannot load ${path}: the file does not exist.`)
  const module = (await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw loadProblem(path, error)
  })) as { readonly default?: unknown }
  if (typeof module.default !== 'function')
    throw new UsageError(
      `Cannot run ${path}: it must export a function by default: export default async ({ app, actors }) => { … }`,
    )
  return module.default as Seed
}
