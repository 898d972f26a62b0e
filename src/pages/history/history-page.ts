/** The page of the history: each change in words, with what it replaced. */
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import { type HistoryEntry, itemsOf } from '../../history/entry.ts'
import type { EntryFilter } from '../../history/history-store.ts'
import type { History } from '../../history/history.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { choiceField, optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { isObject, type JsonText, members } from '../../json/json.ts'
import type { Properties } from '../../property/properties.ts'
import { clientIdOf } from '../../trust/trust.ts'
import type { Undo } from '../../undo/undo.ts'
import type { Messages } from '../languages/language.ts'
import type { PeerName } from '../relationships/values.ts'
import { propertyHref } from '../properties/property-pages.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import { momentOf } from '../shared/time.ts'
import { previewOf } from '../shared/value-tree.ts'
import type { View } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'
import type { ChangeRow, Difference, HistoryValues, UndoValues } from './values.ts'

export interface HistoryPageDeps extends PageDeps, PeerNameDeps {
  readonly history: Pick<History, 'shown' | 'hasRequest' | 'isOn' | 'keepsWhole' | 'forget'>
  readonly undo: Pick<Undo, 'run'>
  readonly properties: Properties
  readonly config: Pick<Config, 'historyDays'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly history: View<HistoryValues>
    readonly undo: View<UndoValues>
  }
}

/** With it, `caller` is an id as changes have it. Without it, `caller` is the id of a relationship. */
export const callerKindField = optional(choiceField('The kind of the caller', ['peer', 'client']))

export const historyQuery = {
  name: optional(stringField('Only changes of this property or list')),
  caller: optional(stringField('Only changes by this peer or client')),
  caller_kind: callerKindField,
  before: optional(stringField('Of the link to what is older')),
}
type Query = ValuesOf<typeof historyQuery>

const rowsOnAPage = 50
/** The most items of one change that the page shows. */
const maxItems = 5
/** The most keys whose differences the page shows. */
const maxKeys = 20

/** @param error Why an undo was refused. */
export async function showHistory(
  deps: HistoryPageDeps,
  exchange: PageExchange<string, Query>,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const { actor, query, request } = exchange
  const { messages } = deps.languages.of(request)
  const { name, caller, caller_kind } = query
  const [values, peers] = await Promise.all([
    pageValues(deps, exchange, '/history', error),
    peersOf(deps, actor.id, messages),
  ])
  const { entries, next, isFirst, lastState } = await changesOf(deps, exchange, peers)
  const context = { peers, now: deps.now(), messages, www: values.actor_www }
  const isOfOne = isHistoryOfOne(query)
  const rows = entries.map((entry, at): ChangeRow => {
    const after = at === 0 ? lastState : stateBefore(entries[at - 1])
    return { ...rowOf(entry, context), ...(isOfOne ? differing(entry, after) : {}) }
  })
  const chosen = Object.entries({ name, caller, caller_kind }).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value]],
  )
  const href = (path: string, more: Readonly<Record<string, string>> = {}): string => {
    const search = new URLSearchParams([...chosen, ...Object.entries(more)]).toString()
    return `${values.actor_www}/history${path}${search === '' ? '' : `?${search}`}`
  }
  const shown = deps.pages.history({
    ...values,
    property: name === undefined ? null : { text: name, href: propertyHref(values.actor_www, name) },
    who: caller === undefined ? null : callerNameOf(caller, peers).name,
    rows,
    older_href: next === null ? null : href('', { before: String(next) }),
    newest_href: href(''),
    is_first: isFirst,
    days: deps.config.historyDays,
    all_href: chosen.length === 0 || rows.length === 0 ? null : href('/undo'),
  })
  return showPage(deps, exchange, shown, error?.status)
}

/** True when the entries on the page follow each other, so that each one tells what the next older one led to. */
function isHistoryOfOne({ name, caller }: Query): boolean {
  return name !== undefined && caller === undefined
}

/** A state of a property: a value, or null for none. Undefined when it is not known, or is a list. */
type State = JsonText | null | undefined

interface Changes {
  readonly entries: readonly HistoryEntry[]
  /** `before` of the next page. Null on the last page. */
  readonly next: number | null
  readonly isFirst: boolean
  /** The state after the newest change on the page. */
  readonly lastState: State
}

async function changesOf(deps: HistoryPageDeps, exchange: PageExchange<string, Query>, peers: Peers): Promise<Changes> {
  const { actor, caller: owner, query } = exchange
  const { name } = query
  const by = historyCallerOf(query, peers)
  const before = cursorOf(query.before)
  const isOfOne = isHistoryOfOne(query)
  // The last entry of the page before tells what the first change of this page led to.
  const isLater = before !== null && isOfOne
  const page = await deps.history.shown(actor, {
    name,
    ...by,
    before: isLater ? before + 1 : before,
    limit: rowsOnAPage + (isLater ? 1 : 0),
    least: isLater ? 2 : 1,
  })
  const entries = page.entries.filter(({ id }) => before === null || id < before)
  const next = page.next === null ? null : (entries.at(-1)?.id ?? null)
  const changes = { entries, next, isFirst: before === null }
  if (name === undefined || !isOfOne) return { ...changes, lastState: undefined }
  if (before !== null) return { ...changes, lastState: stateBefore(page.entries.find(({ id }) => id === before)) }
  const { found } = await deps.properties.getWithVersion({ actor, caller: owner }, name)
  return { ...changes, lastState: found === null ? null : (found.value ?? undefined) }
}

function stateBefore(entry: HistoryEntry | undefined): State {
  return entry === undefined || entry.isTooLong || entry.isHidden || entry.kind === 'list' ? undefined : entry.before
}

function cursorOf(text: string | undefined): number | null {
  if (text === undefined) return null
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text)
  throw new ServiceError('bad_request', 'Cannot list the history: the cursor is not valid')
}

/** The caller as changes have it. Apps have another id there than their relationship, and a peer may have the id of an app. */
export function historyCallerOf(
  {
    caller,
    caller_kind: callerKind,
  }: { readonly caller?: string | undefined; readonly caller_kind?: string | undefined },
  peers: Peers,
): Pick<EntryFilter, 'caller' | 'callerKind'> {
  if (caller === undefined || callerKind !== undefined) return { caller, callerKind }
  const trust = peers.trusts.find(({ peerId }) => peerId === caller)
  if (trust === undefined) return { caller }
  const clientId = clientIdOf(trust)
  return clientId === null ? { caller, callerKind: 'peer' } : { caller: clientId, callerKind: 'client' }
}

/** The peer or app with the id in an origin. */
export function callerNameOf(caller: string, peers: Peers): PeerName {
  const client = peers.trusts.find((trust) => clientIdOf(trust) === caller)
  return peers.nameOf(client?.peerId ?? caller)
}

interface RowContext {
  readonly peers: Peers
  readonly now: number
  readonly messages: Messages
  readonly www: string
}

function rowOf(entry: HistoryEntry, { peers, now, messages, www }: RowContext): ChangeRow {
  const { id, at, name, before, steps, isTooLong, isHidden, origin } = entry
  const isKnown = (origin.by === 'peer' || origin.by === 'client') && origin.name !== undefined
  const peer = isKnown ? callerNameOf(origin.name ?? '', peers) : null
  const since = new URLSearchParams({
    caller: origin.name ?? '',
    caller_kind: origin.by,
    since: new Date(at).toISOString(),
  })
  const items = (steps?.steps ?? []).flatMap((step) =>
    step.kind === 'remove' || step.kind === 'update' ? step.item : [],
  )
  return {
    id,
    at: momentOf(at, now, messages),
    peer,
    who: peer?.name ?? strangerOf(entry, messages),
    what: sentenceOf(entry, messages),
    href: propertyHref(www, name),
    before: before === null ? null : previewOf(before),
    differences: [],
    items: isHidden ? [] : items.slice(0, maxItems).map(previewOf),
    can_undo: !isTooLong,
    since_href: peer === null ? null : `${www}/history/undo?${since.toString()}`,
  }
}

function strangerOf({ origin }: HistoryEntry, { history: words }: Messages): string {
  if (origin.by === 'creator') return words.you
  return origin.by === 'application' ? words.application : words.other
}

function sentenceOf(entry: HistoryEntry, { history: { acts } }: Messages): string {
  const { kind, operation, before, isTooLong, isHidden } = entry
  const name = visible(entry.name)
  if (kind === 'value') {
    if (operation === 'delete') return acts.deleteValue(name)
    return before === null && !isTooLong && !isHidden ? acts.createValue(name) : acts.setValue(name)
  }
  const items = itemsOf(entry)
  switch (operation) {
    case 'create':
      return acts.createList(name)
    case 'delete':
      return acts.deleteList(name)
    case 'add':
      return acts.addItems(name, items)
    case 'remove':
      return acts.removeItems(name, items)
    case 'update':
      return acts.updateItems(name, items)
    case 'texts':
      return acts.describeList(name)
    default:
      return acts.changeList(name)
  }
}

/** The differences that a change of a value made. Of two objects, only the keys that differ. */
function differing({ kind, before, isTooLong, isHidden }: HistoryEntry, after: State): Partial<ChangeRow> {
  if (kind !== 'value' || isTooLong || isHidden || after === undefined) return {}
  return { before: null, differences: differencesOf(before, after) }
}

function differencesOf(before: JsonText | null, after: JsonText | null): readonly Difference[] {
  const [old, now] = [before, after].map((value) => (value !== null && isObject(value) ? members(value) : null))
  if (old === null || old === undefined || now === null || now === undefined)
    return [{ key: '', before: short(before), after: short(after) }]
  const keys = [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key) !== now.get(key))
  return keys
    .slice(0, maxKeys)
    .map((key) => ({ key, before: short(old.get(key) ?? null), after: short(now.get(key) ?? null) }))
}

function short(value: JsonText | null): string | null {
  return value === null ? null : previewOf(value)
}
