/** `troupe actors export` and `troupe actors import`: the archive of one actor. One file, so that a start loads few others. */
import { once } from 'node:events'
import { createReadStream, existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { findActor } from '../../actor/actor-store.ts'
import { parseActorId } from '../../actor/actor.ts'
import { exportActor, wholeView } from '../../archive/export-actor.ts'
import { restoreActor } from '../../archive/restore-actor.ts'
import { openFileBytes } from '../../object/open-bytes.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { commandArgs } from '../command-args.ts'
import { publicUrlOf, withExistingStore } from '../existing-store.ts'
import { counts, print, printable, printableJson, progressTo } from '../output.ts'
import { withRestoring } from '../copies/restoring.ts'
import { UsageError } from '../usage-error.ts'
import { projectTables } from '../project/known-project.ts'

export async function exportActorByCommand(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe actors export', args, { secrets: 'boolean', output: 'string' })
  const [id, ...more] = words
  if (id === undefined || more.length > 0)
    throw new UsageError('Cannot run troupe actors export: expected the id of one actor.')
  const output = options.output === undefined ? null : await createFile(options.output)
  try {
    return await withExistingStore(async (store, config) => {
      const actor = parseActorId(id) === null ? null : await store.read((q) => findActor(q, id))
      if (actor === null) throw new UsageError(`Cannot export actor ${printable(id)}: it does not exist.`)
      const bytes = openFileBytes(config, false)
      const deps = {
        store,
        keyRing: await keyRingOf(config),
        bytes,
        ...projectTables(),
        now: store.now,
        baseUrl: publicUrlOf(config),
      }
      try {
        for await (const lines of exportActor(deps, actor, { view: wholeView, hasSecrets: options.secrets === true }))
          await (output === null ? write(lines) : output.write(lines))
        await output?.sync()
      } finally {
        await bytes.close()
      }
      return 0
    })
  } finally {
    await output?.close()
  }
}

/** Only its owner may read the file, because an archive may have secrets. */
async function createFile(path: string): Promise<Awaited<ReturnType<typeof open>>> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    throw new UsageError(`Cannot create ${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** A terminal gets the same JSON with escapes, and a file the bytes of the archive. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(process.stdout.isTTY ? printableJson(text) : text)) await once(process.stdout, 'drain')
}

export async function importActorByCommand(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe actors import', args, {
    replace: 'boolean',
    as: 'string',
    'dry-run': 'boolean',
    yes: 'boolean',
  })
  const [path, ...more] = words
  if (path === undefined || more.length > 0)
    throw new UsageError('Cannot run troupe actors import: expected one file, or - for standard input.')
  if (path !== '-' && !existsSync(path)) throw new UsageError(`Cannot read ${path}: the file does not exist.`)
  if (options.replace === true) {
    if (path === '-')
      throw new UsageError('Cannot replace an actor from standard input: name a file, which is read twice.')
    return (await import('./replace-actor.ts')).replaceActorByCommand(path, options)
  }
  const [unused] = Object.keys(options)
  if (unused !== undefined) throw new UsageError(`Cannot run troupe actors import: --${unused} needs --replace.`)
  const archive = path === '-' ? process.stdin : createReadStream(path, { highWaterMark: 1_048_576 })
  const { actorId, passphrase, restored, leftOut } = await withExistingStore((store, config) =>
    withRestoring(store, config, (deps) =>
      restoreActor({ ...deps, progress: progressTo(process.stderr, 'records') }, archive),
    ),
  )
  print(`Imported actor ${actorId}: ${counts(restored)}.`)
  if (Object.keys(leftOut).length > 0) print(`Not imported: ${counts(leftOut)}.`)
  print(`Its new passphrase is ${passphrase}`)
  return 0
}
