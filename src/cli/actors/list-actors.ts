/** `troupe actors ls`: a page of the actors, oldest first. */
import { type ActorPlace, findActorsAfter, type ListedActor } from '../../actor/actor-store.ts'
import { isOfPerson, placeAfter } from '../../actor/all-actors.ts'
import { findActorsByCreator } from '../../operator/actor-list.ts'
import { type ActorOrder, currentRanking, listRanked, maxRanked } from '../../operator/actor-ranking.ts'
import { commandArgs } from '../command-args.ts'
import { withExistingStore } from '../existing-store.ts'
import { counted, print, printJson, printable, sizeText, timeText } from '../output.ts'
import { UsageError } from '../usage-error.ts'

const maxListed = 10_000
const defaultListed = 50

export async function listActors(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe actors ls', args, {
    after: 'string',
    'created-after': 'string',
    limit: 'string',
    search: 'string',
    sort: 'string',
    json: 'boolean',
  })
  if (words.length > 0) throw new UsageError('Cannot run troupe actors ls: expected options only.')
  const limit = limitOf(options.limit)
  const { search, sort } = options
  if (sort !== undefined && sort !== 'size' && sort !== 'activity')
    throw new UsageError('Cannot run troupe actors ls: --sort must be size or activity.')
  const others = [search, sort, options.after, options['created-after']].filter((option) => option !== undefined)
  if ((search !== undefined || sort !== undefined) && others.length > 1)
    throw new UsageError('Cannot run troupe actors ls: --search and --sort go with --limit and --json only.')
  if (search !== undefined) {
    const found = await withExistingStore((store) => findActorsByCreator(store, search, limit))
    show(found, null, options.json === true)
    return 0
  }
  if (sort !== undefined) {
    if (limit > maxRanked)
      throw new UsageError(`Cannot run troupe actors ls: with --sort, --limit must be at most ${maxRanked}.`)
    const { actors, countedAt } = await withExistingStore(async (store) => {
      const ranking = await currentRanking(store, sort, limit)
      return { ...ranking, actors: await listRanked(store, ranking.actors) }
    })
    const report = { actors: actors.filter(isOfPerson), countedAt: countedAt === null ? null : timeText(countedAt) }
    showRanked(report, sort, options.json === true)
    return 0
  }
  const from = options.after === undefined ? placeAfter(dateOf(options['created-after'])) : placeOf(options.after)
  const found = await withExistingStore((store) =>
    // One more row shows whether there is another page.
    store.read((q) => findActorsAfter(q, from, Number.MAX_SAFE_INTEGER, limit + 1)),
  )
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const next = last !== undefined && found.length > limit ? `${last.createdAt}.${last.id}` : null
  show(page.filter(isOfPerson), next, options.json === true)
  return 0
}

function show(actors: readonly ListedActor[], next: string | null, isJson: boolean): void {
  if (isJson) {
    const rows = actors.map(({ id, creator, createdAt }) => ({ id, creator, createdAt: timeText(createdAt) }))
    printJson({ actors: rows, next })
    return
  }
  if (actors.length === 0) print('No actors.')
  for (const { id, creator, createdAt } of actors) print(`${timeText(createdAt)}  ${id}  ${printable(creator)}`)
  if (next !== null) print(`More: troupe actors ls --after ${next}`)
}

function showRanked(
  {
    actors,
    countedAt,
  }: { readonly actors: readonly (ListedActor & { readonly amount: number })[]; readonly countedAt: string | null },
  sort: ActorOrder,
  isJson: boolean,
): void {
  const name = sort === 'size' ? 'bytes' : 'records'
  if (isJson) {
    const rows = actors.map(({ id, creator, createdAt, amount }) => ({
      id,
      creator,
      createdAt: timeText(createdAt),
      [name]: amount,
    }))
    printJson({ actors: rows, next: null, countedAt })
    return
  }
  if (actors.length === 0) print('No actors.')
  for (const { id, creator, amount } of actors)
    print(`${sort === 'size' ? sizeText(amount) : counted(amount, 'record')}  ${id}  ${printable(creator)}`)
  if (countedAt !== null) print(`Counted at ${countedAt}.`)
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return defaultListed
  const limit = /^\d+$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > maxListed)
    throw new UsageError(`Cannot run troupe actors ls: --limit must be a whole number from 1 to ${maxListed}.`)
  return limit
}

function dateOf(text: string | undefined): Date | undefined {
  const date = text === undefined ? undefined : new Date(text)
  if (date !== undefined && Number.isNaN(date.getTime()))
    throw new UsageError(
      'Cannot run troupe actors ls: --created-after must be a date such as 2026-07-01 or 2026-07-01T12:00:00Z.',
    )
  return date
}

function placeOf(text: string): ActorPlace {
  const [, createdAt, id] = /^(\d{1,15})\.(.+)$/.exec(text) ?? []
  if (createdAt === undefined || id === undefined)
    throw new UsageError('Cannot run troupe actors ls: --after must be a place that an earlier page printed.')
  return { createdAt: Number(createdAt), id }
}
