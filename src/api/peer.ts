/** The handle by which applications call a peer. Only the request carries the secret of the relationship. */
import type { AnyDeclared } from '../app/actor-handle.ts'
import type { ListQuery, ListWhere } from '../app/list-query.ts'
import { PeerRefused, PeerTimeout, PeerUnreachable } from '../app/peer-errors.ts'
import type { PeerHandle, PeerListHandle, PeerListPage } from '../app/peer-handle.ts'
import type { PropertyPath } from '../app/property-path.ts'
import { quoted, ServiceError } from '../errors.ts'
import { fromPlain, type Json, toPlain } from '../json/json.ts'
import type { FoundItems } from '../list/list.ts'
import { maxQueried, writeCursor } from '../property/item-query.ts'
import { holdsAll, pageOfMatches } from '../property/lists/list-queries.ts'
import { parseRetryAfter } from '../outbox/policy.ts'
import type { PeerOutcome, PeerRequest } from '../peer/peer-client.ts'
import type { PeerLinks } from '../replica/peer-link.ts'
import type { Transactions } from '../transaction/transactions.ts'
import type { Trust } from '../trust/trust.ts'
import type { Trusts } from '../trust/trusts.ts'
import { askedOf } from './list.ts'
import { declaredType, nameOf, segmentsOf } from './transaction.ts'

export interface PeerHandleDeps {
  readonly trusts: Trusts
  readonly peerLinks: PeerLinks
  readonly transactions: Transactions
  readonly now: () => number
}

type Answer = PeerOutcome & { readonly kind: 'answered' }

/** The codes of refusals without a code, such as those of the Python implementation. */
const codes: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'payload_too_large',
  429: 'too_many_requests',
}

/** The longest code and message that a peer can choose. */
const maxMessage = 1000

/** @param relationship The trust type that the relationship must have. Default: any. */
export function peerHandle(
  deps: PeerHandleDeps,
  actorId: string,
  peerId: string,
  relationship: string | null = null,
): PeerHandle<never> {
  const calls = new PeerCalls(deps, actorId, { peerId, relationship })
  const operation =
    (kind: 'actions' | 'methods') =>
    async (name: string, input: unknown = {}): Promise<never> =>
      declaredType(calls.resultOf(await calls.send('POST', [kind, name], fromPlain(input))))
  return {
    id: peerId,
    action: operation('actions'),
    method: operation('methods'),
    get: async (path: PropertyPath | AnyDeclared): Promise<never> =>
      declaredType(calls.textOrResultOf(await calls.find(['properties', ...segmentsOf(path)]))),
    set: async (path: PropertyPath | AnyDeclared, value: unknown) =>
      void (await calls.send('PUT', ['properties', ...segmentsOf(path)], fromPlain(value))),
    list: (list: string | AnyDeclared): PeerListHandle<never, never> =>
      declaredType(peerListHandle(calls, nameOf(list))),
  }
}

function peerListHandle(calls: PeerCalls, name: string): PeerListHandle {
  const path = ['properties', name, 'items']
  const page = async (query: string): Promise<ListPart> => {
    const answer = await calls.send('GET', path, undefined, query)
    return listPart(answer, calls.resultOf(answer))
  }
  const length = async (): Promise<number> => (await page('?start=0&limit=1')).count
  const query = async (given: ListQuery = {}): Promise<PeerListPage> => {
    const search = searchOf(given)
    const answer = await calls.send('GET', path, undefined, `?${search.toString()}`)
    return queriedPage(answer, calls.resultOf(answer), given)
  }
  return {
    name,
    length,
    query,
    async count(where = {}) {
      if (Object.values(where).every((value) => value === undefined)) return length()
      let counted = 0
      let after: string | null = null
      do {
        const { items, next }: PeerListPage = await query({ where, after })
        counted += items.length
        after = next
      } while (after !== null)
      return counted
    },
    get: async (index) => calls.resultOf(await calls.find(['properties', name], `?index=${index}`)),
    async items({ start = 0, limit } = {}) {
      const { items } = await page(`?start=${start}${limit === undefined ? '' : `&limit=${limit}`}`)
      // The Python implementation ignores the range and returns all items.
      return items.flatMap(({ index, item }) => (index >= start && index < start + (limit ?? Infinity) ? [item] : []))
    },
    async append(item) {
      const answer = await calls.send('POST', path, `{"action":"add","item_value":${fromPlain(item)}}`)
      const { index } = membersOf(calls.resultOf(answer))
      if (typeof index !== 'number') throw invalid(answer, 'the index of an item')
      return index
    },
  }
}

/** The query of the address. @throws ServiceError `bad_request` for a query that no service accepts. */
function searchOf(query: ListQuery): URLSearchParams {
  askedOf(query)
  const { where = {}, sort, limit = maxQueried, after } = query
  const search = new URLSearchParams()
  // A string in quotes is never read as a number.
  for (const [field, value] of Object.entries<ListWhere[string]>(where))
    if (typeof value === 'object' && value !== null) {
      for (const [operator, compared] of Object.entries(value))
        if (compared !== undefined) search.set(`where[${field}][${operator}]`, fromPlain(compared))
    } else if (value !== undefined) search.set(`where[${field}]`, fromPlain(value))
  if (sort !== undefined) search.set('sort', sort)
  search.set('limit', String(limit))
  if (after !== undefined && after !== null) search.set('after', after)
  return search
}

/** Reads the answer to a query. A peer without queries returns its items with indexes, and this service selects. */
function queriedPage(answer: Answer, result: Json | undefined, query: ListQuery): PeerListPage {
  const { items, count, next = null } = membersOf(result)
  if (count !== undefined) {
    const found = selected(answer, listPart(answer, result), query)
    return { items: found.items.map(({ item }) => ({ item: toPlain(item) })), next: writeCursor(found.next) }
  }
  if (!Array.isArray(items) || (next !== null && typeof next !== 'string')) throw invalid(answer, 'a page of a query')
  return {
    items: items.map((given: Json) => {
      const { item } = membersOf(given)
      if (item === undefined) throw invalid(answer, 'a page of a query')
      return { item }
    }),
    next,
  }
}

/** Selects among the items of a list, or takes the requested range without a condition. */
function selected(answer: Answer, { items, count }: ListPart, query: ListQuery): FoundItems {
  const asked = askedOf(query)
  const found = items.map(({ index, item }) => ({ item: fromPlain(item), handle: '', number: index }))
  if (asked.where.length === 0 && asked.sort === null) {
    const from = asked.after?.item ?? 0
    const to = from + asked.limit
    const range = found.filter(({ number }) => number >= from && number < to)
    return { items: range, next: to < count ? { item: to, key: '' } : null }
  }
  if (items.length < count) throw invalid(answer, 'a page of a query')
  return pageOfMatches(
    found.filter(({ item }) => holdsAll(item, asked.where)),
    asked,
    null,
  )
}

/** Items of a list, and its length. */
interface ListPart {
  readonly items: readonly IndexedItem[]
  readonly count: number
}

function listPart(answer: Answer, result: Json | undefined): ListPart {
  const { items, count } = membersOf(result)
  if (!Array.isArray(items) || typeof count !== 'number') throw invalid(answer, 'a list')
  return { items: items.map((item: Json) => indexedItem(answer, item)), count }
}

interface IndexedItem {
  readonly index: number
  readonly item: Json
}

function indexedItem(answer: Answer, given: Json): IndexedItem {
  const { index, item } = membersOf(given)
  if (typeof index !== 'number' || item === undefined) throw invalid(answer, 'a list')
  return { index, item }
}

/** The calls to one peer. */
class PeerCalls {
  readonly #deps: PeerHandleDeps
  readonly #actorId: string
  readonly #peerId: string
  readonly #relationship: string | null

  constructor(
    deps: PeerHandleDeps,
    actorId: string,
    { peerId, relationship }: { readonly peerId: string; readonly relationship: string | null },
  ) {
    this.#deps = deps
    this.#actorId = actorId
    this.#peerId = peerId
    this.#relationship = relationship
  }

  /** Returns the answer of a call that the peer accepted. @throws PeerRefused, PeerUnreachable, PeerTimeout, ServiceError */
  async send(method: PeerRequest['method'], path: readonly string[], body?: string, query = ''): Promise<Answer> {
    this.#deps.transactions.refuseInside('call a peer')
    const trust = await this.#approved()
    const url = [trust.baseuri, ...path.map(encodeURIComponent)].join('/') + query
    return this.#accepted(await this.#deps.peerLinks.call(trust, method, url, body))
  }

  /** Like `send` with GET. Null when the peer does not have what it is asked for. */
  async find(path: readonly string[], query = ''): Promise<Answer | null> {
    try {
      return await this.send('GET', path, undefined, query)
    } catch (error) {
      if (error instanceof PeerRefused && error.status === 404 && error.code === 'not_found') return null
      throw error
    }
  }

  /** Undefined for an empty body. @throws PeerRefused `invalid_answer` for a body that is not JSON. */
  resultOf(answer: Answer | null): Json | undefined {
    if (answer === null || answer.body === '') return undefined
    const result = this.#jsonOf(answer.body)
    if (result === undefined) throw invalid(answer, 'JSON')
    return result
  }

  /** Like `resultOf`. A body that is not JSON is a string, because the Python implementation sends strings without quotes. */
  textOrResultOf(answer: Answer | null): Json | undefined {
    return answer === null ? undefined : (this.#jsonOf(answer.body) ?? answer.body.toWellFormed())
  }

  async #approved(): Promise<Trust> {
    const peer = quoted(this.#peerId)
    const trust = await this.#deps.trusts.find(this.#actorId, this.#peerId)
    if (trust === null)
      throw new ServiceError(
        'not_found',
        `Cannot call peer ${peer}: this actor has no relationship with it. Request one with actor.trust.request(url)`,
      )
    if (this.#relationship !== null && trust.relationship !== this.#relationship)
      throw new ServiceError('not_found', `Cannot call group ${peer}: this actor is not a member of it`)
    if (trust.baseuri === '')
      throw new ServiceError('bad_request', `Cannot call peer ${peer}: it is a program without an address`)
    if (!trust.approved)
      throw new ServiceError(
        'forbidden',
        `Cannot call peer ${peer}: its relationship is not approved. Approve it with actor.trust.approve(peerId)`,
      )
    return trust
  }

  #accepted(outcome: PeerOutcome): Answer {
    if (outcome.kind !== 'answered') {
      const mayHaveRun = outcome.kind === 'unknown'
      if (outcome.kind === 'unknown' && outcome.oversizedStatus !== undefined)
        throw new PeerRefused(outcome.oversizedStatus, 'answer_too_large', 'The answer of the peer is too large')
      throw outcome.isTimeout === true
        ? new PeerTimeout(mayHaveRun, outcome.reason)
        : new PeerUnreachable(mayHaveRun, outcome.reason)
    }
    const { status, body } = outcome
    if (status >= 200 && status < 300) return outcome
    if (status >= 300 && status < 400)
      throw new PeerRefused(status, 'redirected', 'The peer answered with a redirect, which is not followed')
    const details = membersOf(this.#jsonOf(body))
    const { error, message } = details
    throw new PeerRefused(
      status,
      typeof error === 'string' ? error.slice(0, maxMessage) : (codes[status] ?? 'refused'),
      typeof message === 'string' ? message.slice(0, maxMessage) : `The peer answered ${status}`,
      details,
      retryAfterOf(outcome, this.#deps.now()),
    )
  }

  /** Undefined when the body is not JSON. */
  #jsonOf(body: string): Json | undefined {
    try {
      return toPlain(this.#deps.peerLinks.json(body))
    } catch (error) {
      if (error instanceof ServiceError) return undefined
      throw error
    }
  }
}

function invalid({ status }: Answer, expected: string): PeerRefused {
  return new PeerRefused(status, 'invalid_answer', `The answer of the peer is not ${expected}`)
}

/** Seconds until the peer wants the next request. Undefined when it names no time. */
function retryAfterOf({ headers }: Answer, now: number): number | undefined {
  const waitMs = parseRetryAfter(headers['retry-after'], now)
  return waitMs === null ? undefined : Math.ceil(waitMs / 1000)
}

function membersOf(value: Json | undefined): { readonly [member: string]: Json } {
  return isMembers(value) ? value : {}
}

function isMembers(value: Json | undefined): value is { readonly [member: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
