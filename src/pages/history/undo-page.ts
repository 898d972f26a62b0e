/** Takes changes back: at once for a single request or change, after a preview for everything that a caller did. */
import { ServiceError } from '../../errors.ts'
import type { EntryFilter } from '../../history/history-store.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { optional, stringField, timeField, type ValuesOf } from '../../json/fields.ts'
import { peersOf } from '../shared/peer-names.ts'
import { explained } from '../shared/error-text.ts'
import { goOn, goOnUndoable, pageValues, showPage } from '../shared/page.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { propertyHref } from '../properties/property-pages.ts'
import { momentOf } from '../shared/time.ts'
import { requireUndone } from '../../undo/undo.ts'
import {
  type HistoryPageDeps,
  type historyQuery,
  callerKindField,
  callerNameOf,
  historyCallerOf,
  showHistory,
} from './history-page.ts'

export const undoQuery = {
  name: optional(stringField('Only changes of this property or list')),
  caller: optional(stringField('Only changes by this peer or client')),
  caller_kind: callerKindField,
  since: optional(timeField('Only changes at or after this time (UTC)')),
}

export async function previewUndo(
  deps: HistoryPageDeps,
  exchange: PageExchange<string, ValuesOf<typeof undoQuery>>,
): Promise<HttpResponse> {
  const { actor, caller, query, request } = exchange
  const { messages } = deps.languages.of(request)
  if (query.name === undefined && query.caller === undefined)
    throw new ServiceError('bad_request', 'Cannot undo: give a name or a caller')
  const [values, peers] = await Promise.all([
    pageValues(deps, exchange, '/history/undo'),
    peersOf(deps, actor.id, messages),
  ])
  const { name, since: from } = query
  const by = historyCallerOf(query, peers)
  const { undone, conflicts } = await deps.undo.run({ actor, caller }, { name, since: from, ...by }, { preview: true })
  const linked = (name: string) => ({ name, href: propertyHref(values.actor_www, name) })
  const since = query.since === undefined ? {} : { since: new Date(query.since).toISOString() }
  const shown = deps.pages.undo({
    ...values,
    who: query.caller === undefined ? messages.history.everyone : callerNameOf(by.caller ?? '', peers).name,
    since: query.since === undefined ? null : momentOf(query.since, deps.now(), messages),
    undone: undone.map(linked),
    conflicts: conflicts.map(({ name, reason }) => ({ ...linked(name), reason })),
    fields: {
      ...given('name', query.name),
      ...given('caller', by.caller),
      ...given('caller_kind', by.callerKind),
      ...since,
    },
  })
  return showPage(deps, exchange, shown)
}

function given(name: string, value: string | null | undefined): Record<string, string> {
  return value === undefined || value === null ? {} : { [name]: value }
}

export async function undoChanges(
  deps: HistoryPageDeps,
  exchange: PageExchange<string, ValuesOf<typeof historyQuery>> & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const sent = await exchange.body()
  return refusedOnPage(
    exchange,
    async () => {
      try {
        const result = await deps.undo.run({ actor, caller }, filterIn(sent))
        requireUndone(result)
        const notice = result.conflicts.length === 0 ? 'undone' : 'undoneInPart'
        return goOnUndoable(deps, exchange, sent, '/history', notice)
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'not_found')
          throw explained(new ServiceError('conflict', error.message), ({ history }) => history.gone)
        if (error instanceof ServiceError && error.code === 'conflict')
          throw explained(error, ({ history }) => history.conflict)
        throw error
      }
    },
    (error) => showHistory(deps, exchange, error),
  )
}

export async function deleteShownHistory(
  deps: HistoryPageDeps,
  exchange: PageExchange & Bodied<Params>,
): Promise<HttpResponse> {
  const sent = await exchange.body()
  if (sent.get('action') !== 'delete') throw formRefusal('the action is not delete')
  await deps.history.forget(exchange.actor.id, sent.get('name') ?? null)
  return goOn(deps, exchange, sent, '/history', 'historyDeleted')
}

function filterIn(sent: Params): EntryFilter {
  const [id, request, name, by, since] = ['id', 'request_id', 'name', 'caller', 'since'].map((key) => sent.get(key))
  const callerKind = sent.get('caller_kind')
  if ([id, request, name, by].every((field) => field === undefined))
    throw formRefusal('it names neither a change nor a request, property or caller')
  if (id !== undefined && !/^[1-9][0-9]{0,14}$/.test(id)) throw formRefusal('the id is not a number')
  const from = since === undefined ? null : Date.parse(since)
  if (from !== null && Number.isNaN(from)) throw formRefusal('the time is not valid')
  return { seq: id === undefined ? null : Number(id), request, name, caller: by, callerKind, since: from }
}
