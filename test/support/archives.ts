/** Exports and imports actors, as the commands do. */
import { exportActor, wholeView } from '../../src/archive/export-actor.ts'
import {
  endReplacement,
  planReplacement,
  replaceActor,
  type ReplaceDeps,
  type ReplacementPlan,
} from '../../src/archive/replace-actor.ts'
import { type Restored, restoreActor } from '../../src/archive/restore-actor.ts'
import { aroundReplacement } from '../../src/cli/actors/replace-actor.ts'
import type { TestActor, TestService } from './service.ts'

export type ArchiveLine = Readonly<Record<string, unknown>> & { readonly kind: string }

/** The archive that `troupe actors export` writes. */
export async function archiveOf(service: TestService, actorId: string, hasSecrets = true): Promise<string> {
  const { store, keyRing, parts } = await service.app.running()
  await service.settled()
  await parts.auditLog.flush()
  const actor = await parts.actors.require(actorId)
  const deps = { store, keyRing, bytes: parts.fileBytes, tables: parts.tables, now: store.now, baseUrl: service.url }
  return (await Array.fromAsync(exportActor(deps, actor, { view: wholeView, hasSecrets }))).join('')
}

/** Imports an archive, as `troupe actors import` does. */
export async function restore(
  service: TestService,
  archive: string | AsyncIterable<Uint8Array>,
  uniqueCreator = false,
): Promise<Restored> {
  const { store, keyRing, parts } = await service.app.running()
  return restoreActor(
    {
      store,
      keyRing,
      bytes: parts.fileBytes,
      tables: parts.tables,
      uniqueCreator,
      deleteRemoved: (actorId) => parts.removedLists.deleteRowsOf(actorId),
    },
    typeof archive === 'string' ? piecesOf(archive) : archive,
  )
}

/** The bytes in pieces that end within lines. */
export async function* piecesOf(text: string, size = 1000): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export function linesOf(archive: string): ArchiveLine[] {
  return archive
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ArchiveLine)
}

/** The lines as text, without the time of the export, and with the sequence number of each peer's subscription raised by `more`. */
export function comparable(archive: string, more = 0): string[] {
  return archive.split('\n').map((line) => {
    if (line.startsWith('{"kind":"archive"')) return line.replace(/"exported_at":"[^"]+"/, '"exported_at":"…"')
    if (!line.startsWith('{"kind":"subscription_of_peer"')) return line
    return line.replace(/"sequence":(\d+)/, (_whole, number: string) => `"sequence":${Number(number) + more}`)
  })
}

/** The archive that the owner gets. */
export async function ownArchiveOf(actor: TestActor): Promise<ArchiveLine[]> {
  return linesOf(await (await actor.request('GET', '/export')).text())
}

async function replaceDeps(service: TestService, archive: string, more: Partial<ReplaceDeps>): Promise<ReplaceDeps> {
  const { store, keyRing, parts } = await service.app.running()
  return {
    store,
    keyRing,
    bytes: parts.fileBytes,
    tables: parts.tables,
    deleteRemoved: (actorId) => parts.removedLists.deleteRowsOf(actorId),
    open: () => piecesOf(archive),
    baseUrl: service.url,
    quotas: [],
    around: aroundReplacement({ historyDays: 30, historySize: 4_194_304 }),
    pause: () => service.settled(),
    ...more,
  }
}

/** Replaces the content of an actor, as `troupe actors import --replace` does. */
export async function replaced(
  service: TestService,
  archive: string,
  { as = null, ...more }: Partial<ReplaceDeps> & { readonly as?: string | null } = {},
): Promise<ReplacementPlan> {
  const deps = await replaceDeps(service, archive, more)
  const plan = await planReplacement(deps, as)
  try {
    await replaceActor(deps, plan)
  } finally {
    await endReplacement(deps, plan)
  }
  return plan
}

/** Plans a replacement, as with `--dry-run`. */
export async function planned(
  service: TestService,
  archive: string,
  { as = null, ...more }: Partial<ReplaceDeps> & { readonly as?: string | null } = {},
): Promise<ReplacementPlan> {
  const deps = await replaceDeps(service, archive, more)
  const plan = await planReplacement(deps, as)
  await endReplacement(deps, plan)
  return plan
}
