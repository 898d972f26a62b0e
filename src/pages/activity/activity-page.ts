/** The page of the audit log: describes its entries in words. */
import { optional, stringField, type ValuesOf } from '../../json/fields.ts'
import type { AuditDecision, AuditLogEntry } from '../../audit-log/entry.ts'
import type { ActivityRow, ActivityValues } from './values.ts'
import { momentOf } from '../shared/time.ts'
import { visible } from '../shared/visible.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { auditWordsOf } from '../../mcp/methods.ts'
import type { AuditLog } from '../../audit-log/audit-log.ts'
import type { Config } from '../../config/options.ts'
import type { View } from '../shared/values.ts'

export interface ActivityPageDeps extends PageDeps, PeerNameDeps {
  readonly auditLog: AuditLog
  readonly config: Pick<Config, 'activityPerActor'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly activity: View<ActivityValues>
  }
}

const entriesOnAPage = 50

export const activityQuery = {
  caller: optional(stringField('Only what this peer, client or address did')),
  cursor: optional(stringField('Of the link to what is older')),
}

export async function showActivity(
  deps: ActivityPageDeps,
  exchange: PageExchange<string, ValuesOf<typeof activityQuery>>,
): Promise<HttpResponse> {
  const { actor, query } = exchange
  const { caller = '', cursor = null } = query
  const [peers, { entries, next }] = await Promise.all([
    peersOf(deps, actor.id),
    deps.auditLog.page(actor.id, { caller: caller === '' ? null : caller, cursor, limit: entriesOnAPage }),
  ])
  const values = pageValues(deps, exchange, '/activity')
  const link = (given: Record<string, string>): string =>
    `${values.actor_www}/activity?${new URLSearchParams(given).toString()}`
  const rows = entries.map((entry) => rowOf(entry, peers, deps.now(), caller === '' ? link : null))
  const page = deps.pages.activity({
    ...values,
    entries: rows,
    days: [...Map.groupBy(rows, ({ at }) => dayOf(at.at))].map(([day, ofDay]) => ({ day, entries: ofDay })),
    callers: peers.trusts.map(({ peerId }) => peers.nameOf(peerId)).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    caller,
    caller_name: peers.nameOf(caller).name,
    older_href: next === null ? null : link({ ...(caller === '' ? {} : { caller }), cursor: next }),
    is_first: cursor === null,
    is_off: deps.config.activityPerActor === 0,
  })
  return showPage(exchange, page)
}

function dayOf(at: string): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' }).format(new Date(at))
}

function rowOf(
  entry: AuditLogEntry,
  peers: Peers,
  now: number,
  link: ((given: Record<string, string>) => string) | null,
): ActivityRow {
  const isKnown = entry.callerKind === 'peer' || entry.callerKind === 'client'
  const peer = isKnown ? peers.nameOf(entry.caller) : null
  return {
    at: momentOf(entry.at, now),
    peer,
    who: peer?.name ?? strangers[entry.callerKind === 'trustee' ? 'trustee' : 'anonymous'](entry.caller),
    what: visible(said[entry.decision](whatOf(entry))),
    is_refused: entry.decision === 'refused',
    // The row already names the caller and the action.
    reason: visible(entry.reason.replace(/^(?:peer|client) \S+ may not [^:]*: /, '')),
    times: entry.times,
    only_href: link === null || entry.caller === '' ? '' : link({ caller: entry.caller }),
    request: visible(`${entry.method} ${entry.path} ${entry.status}`),
  }
}

const said: Readonly<Record<AuditDecision, (what: string) => string>> = {
  allowed: done,
  asked: (what) => `asked for your approval to ${what}`,
  approved: (what) => `got your approval to ${what}`,
  denied: (what) => `did not get your approval to ${what}`,
  refused: (what) => what,
}

const strangers = {
  trustee: () => 'The trustee',
  anonymous: (address: string) => (address === '' ? 'Somebody unknown' : `Somebody unknown at ${address}`),
} as const

/** Describes a request to an actor in words. */
function whatOf({ method, path, through }: Pick<AuditLogEntry, 'method' | 'path' | 'through'>): string {
  if (through === 'mcp') return auditWordsOf(method, path.replace(/^\//, ''))
  const [, first = '', ...rest] = path.split('/').map(decoded)
  const words = wordsOf.get(first)
  if (words === undefined) return `ask for “${first}”`
  return words({ method, verb: verbs[method] ?? method, name: rest.join('/'), rest })
}

interface Addressed {
  readonly method: string
  readonly verb: string
  /** Path below the first segment. */
  readonly name: string
  readonly rest: readonly string[]
}

/** Descriptions by the first segment of the path. */
const wordsOf: ReadonlyMap<string, (request: Addressed) => string> = new Map([
  ['', () => 'look at the front door of this actor'],
  ['actions', ({ name }: Addressed) => (name === '' ? 'look at the actions' : `run the action “${name}”`)],
  ['callbacks', ({ method, rest }: Addressed) => callbackWords(method, rest)],
  ['files', ({ verb, name }: Addressed) => `${verb} ${name === '' ? 'the list of files' : `the file “${name}”`}`],
  ['meta', () => 'look at what this actor tells everybody'],
  ['methods', methodWords],
  ['permissions', () => 'look at what it may do'],
  [
    'properties',
    ({ verb, name }: Addressed) => `${verb} ${name === '' ? 'the list of properties' : `the property “${name}”`}`,
  ],
  ['resources', ({ verb, name }: Addressed) => `${verb} the resource “${name}”`],
  ['subscriptions', ({ method, rest }: Addressed) => subscriptionWords(method, rest.length)],
  ['trust', ({ method, rest }: Addressed) => trustWords(method, rest)],
])

/** Puts the verb of a description into the past tense. */
function done(what: string): string {
  const [verb = '', ...rest] = what.split(' ')
  return [past[verb] ?? verb, ...rest].join(' ')
}

const past: Readonly<Record<string, string>> = {
  ask: 'asked',
  begin: 'began',
  call: 'called',
  change: 'changed',
  confirm: 'confirmed',
  delete: 'deleted',
  end: 'ended',
  look: 'looked',
  ring: 'rang',
  run: 'ran',
  say: 'said',
  stop: 'stopped',
  report: 'reported',
}

const verbs: Readonly<Record<string, string>> = { GET: 'read', POST: 'change', PUT: 'change', DELETE: 'delete' }

function methodWords({ method, name }: Addressed): string {
  if (name !== '') return `call the method “${name}”`
  return method === 'GET' ? 'look at the methods' : 'call a method'
}

function subscriptionWords(method: string, depth: number): string {
  if (method === 'POST') return depth > 1 ? 'ask for changes again' : 'begin to listen'
  if (method === 'DELETE') return 'stop listening'
  if (method === 'PUT') return 'confirm that changes arrived'
  return depth > 1 ? 'look for changes' : 'look at its subscriptions'
}

function callbackWords(method: string, [kind]: readonly string[]): string {
  if (kind === 'subscriptions') return method === 'DELETE' ? 'end what you listened to' : 'report a change at its side'
  if (kind === 'permissions') return 'report what you may do at its side'
  return `ring “${kind ?? ''}”`
}

function trustWords(method: string, rest: readonly string[]): string {
  if (method === 'POST') return rest.length > 1 ? 'say that its owner approved' : 'ask for a relationship'
  if (method === 'DELETE') return 'end the relationship'
  if (rest.includes('permissions') || rest.includes('shared_properties')) return 'look at what it may do'
  return method === 'PUT' ? 'change the relationship' : 'look at the relationship'
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
