/** `troupe restored`: says that the database is a copy which no mark names, and ends credentials that a restore brought back. */
import { findIncarnation, beginIncarnation } from '../../incarnation/incarnation.ts'
import { stopMove } from '../../moving/stop-move.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { countCredentials, type RevokedCredentials, revokeCredentials } from '../../operator/revoke-credentials.ts'
import type { Store } from '../../store/store.ts'
import { commandArgs } from '../command-args.ts'
import { isConfirmed } from '../confirm.ts'
import { withExistingStore } from '../existing-store.ts'
import { counted, print, printable, printJson, timeText } from '../output.ts'
import { UsageError } from '../usage-error.ts'
import { projectTables } from '../project/known-project.ts'

const maxNamed = 100

export async function restored(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe restored', args, {
    'revoke-after': 'string',
    'dry-run': 'boolean',
    yes: 'boolean',
    json: 'boolean',
  })
  const { 'revoke-after': given, 'dry-run': isDry = false, json: isJson = false, yes: isSure } = options
  if (words.length > 0) throw new UsageError('Cannot run troupe restored: expected no argument besides options.')
  const after = given === undefined ? null : timeOf(given)
  if (after === null && isDry) throw new UsageError('Cannot run troupe restored: --dry-run needs --revoke-after.')
  return withExistingStore(async (store, config) => {
    if (after === null) return begin(store, null, isJson)
    const planned = await countCredentials({ store, ...projectTables() }, after)
    if (isDry) return report(planned, { after, isJson, incarnation: null })
    const question = `End ${counted(total(planned), 'credential')} that were issued or changed after ${timeText(after)}? Type yes to confirm: `
    if (!(await isConfirmed(question, { answer: 'yes', act: 'end the credentials', isSure }))) {
      print('Nothing was changed.')
      return 1
    }
    const revoked = await revokeCredentials(
      { store, ...projectTables(), keyRing: await keyRingOf(config), stopMove },
      after,
    )
    return begin(store, { ...revoked, after }, isJson)
  })
}

/** A copy that no service has started with begins its incarnation at the start. */
async function begin(
  store: Store,
  revoked: (RevokedCredentials & { readonly after: number }) | null,
  isJson: boolean,
): Promise<number> {
  const found = await store.read(findIncarnation)
  const isMarked = found !== null && found.copiedAt !== null
  const { id } = isMarked ? found : (await beginIncarnation(store)).begun
  if (revoked !== null) return report(revoked, { after: revoked.after, isJson, incarnation: isMarked ? null : id })
  if (isJson) printJson({ incarnation: isMarked ? null : id })
  else print(isMarked ? 'The database knows that it is a copy: the next start begins an incarnation.' : begun(id))
  return 0
}

function begun(id: string): string {
  return `The database begins incarnation ${id}.`
}

function report(
  { ended, rightsChanged }: RevokedCredentials,
  {
    after,
    isJson,
    incarnation,
  }: { readonly after: number; readonly isJson: boolean; readonly incarnation: string | null },
): number {
  if (isJson) {
    printJson({ revoked_after: timeText(after), ended, rights_changed: rightsChanged, incarnation })
    return 0
  }
  for (const [name, number] of Object.entries(ended)) if (number > 0) print(`${String(number).padStart(8)}  ${name}`)
  print(`Issued or changed after ${timeText(after)}: ${counted(total({ ended }), 'credential')}.`)
  if (rightsChanged.length > 0)
    print('These relationships and apps stay, and their rights changed after this time. Check them:')
  for (const { actor, peer } of rightsChanged.slice(0, maxNamed)) print(`  ${actor}  ${printable(peer)}`)
  if (incarnation !== null) print(begun(incarnation))
  return 0
}

function total({ ended }: Pick<RevokedCredentials, 'ended'>): number {
  return Object.values(ended).reduce((sum, number) => sum + number, 0)
}

/** @throws UsageError for what is not a time in ISO 8601, and for the future. */
function timeOf(text: string): number {
  const time = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (Number.isNaN(time))
    throw new UsageError(
      `Cannot read the time ${printable(JSON.stringify(text))}: expected a date or a time with its zone, such as 2026-11-28T09:30:00Z.`,
    )
  if (time > Date.now())
    throw new UsageError('Cannot end credentials after a time in the future: name the time from which you trust none.')
  return time
}
