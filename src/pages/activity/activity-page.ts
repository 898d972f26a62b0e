/** The page of the audit log: describes its entries in words. */
import { hintField, optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { type AuditLogEntry, dayMs, entryReasons } from '../../audit-log/entry.ts'
import { type ActivityFilter, activityKinds, activityOutcomes } from '../../audit-log/filter.ts'
import { type FeatureAct, ownSentence } from './own-acts.ts'
import type { ActivityRow, ActivityValues, ChosenFilter } from './values.ts'
import { momentOf } from '../shared/time.ts'
import { visible } from '../shared/visible.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import type { PeerName } from '../relationships/values.ts'
import { peerAtThatTime, type Peers, peersOf, type PeerNameDeps } from '../shared/peer-names.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { heldBecause } from '../../operation/approvals.ts'
import type { Messages } from '../languages/language.ts'
import type { AuditLog } from '../../audit-log/audit-log.ts'
import type { Config } from '../../config/options.ts'
import type { View } from '../shared/values.ts'
import type { Continued } from '../../runtime.ts'
import { restoredDataOf } from './restored-data.ts'

export interface ActivityPageDeps extends PageDeps, PeerNameDeps {
  readonly auditLog: AuditLog
  /** The acts of an owner that features add. */
  readonly featureActs: readonly FeatureAct[]
  readonly config: Pick<Config, 'activityPerActor'>
  readonly continued: Continued | null
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly activity: View<ActivityValues>
  }
}

const entriesOnAPage = 50

/** The filter as the form of the page sends it. Fields that the form leaves empty are absent. */
export const activityQuery = {
  caller: optional(stringField('Only what this peer, client or address did')),
  outcome: hintField('Only requests with this outcome', activityOutcomes),
  kind: hintField('Only requests about this', activityKinds),
  property: optional(stringField('Only requests for this property or a part of it')),
  from: optional(stringField('The first day (UTC), such as 2026-11-27')),
  to: optional(stringField('The last day (UTC)')),
  cursor: optional(stringField('Of the link to what is older')),
}
type PageQuery = ValuesOf<typeof activityQuery>

export async function showActivity(
  deps: ActivityPageDeps,
  exchange: PageExchange<string, PageQuery>,
): Promise<HttpResponse> {
  const { actor, query } = exchange
  const { cursor = null } = query
  const { messages, tag } = deps.languages.of(exchange.request)
  const chosen = chosenOf(query)
  const { caller } = chosen
  const [values, peers, { entries, next }] = await Promise.all([
    pageValues(deps, exchange, '/activity'),
    peersOf(deps, actor.id, messages),
    deps.auditLog.page(actor.id, { ...filterOf(chosen), cursor, limit: entriesOnAPage }),
  ])
  const address = `${values.actor_www}/activity`
  const given = Object.entries(chosen).filter(([, value]) => value !== '')
  const link = (more: Record<string, string>, path = ''): string =>
    `${address}${path}?${new URLSearchParams([...given, ...Object.entries(more)]).toString()}`
  const rows = entries.map((entry) =>
    rowOf(entry, {
      peers,
      now: deps.now(),
      link: caller === '' ? link : null,
      messages,
      tag,
      featureActs: deps.featureActs,
    }),
  )
  const page = deps.pages.activity({
    ...values,
    entries: rows,
    days: [...Map.groupBy(rows, ({ at }) => messages.time.day(new Date(at.at)))].map(([day, ofDay]) => ({
      day,
      entries: ofDay,
    })),
    callers: callersOf(peers),
    filter: chosen,
    is_filtered: given.length > 0,
    newest_href: given.length === 0 ? address : link({}),
    older_href: next === null ? null : link({ cursor: next }),
    export_links: { csv: link({ format: 'csv' }, '/export'), json: link({ format: 'json' }, '/export') },
    is_first: cursor === null,
    is_off: deps.config.activityPerActor === 0,
    restored:
      deps.continued !== null && actor.createdAt > deps.continued.since
        ? null
        : restoredDataOf(deps.continued, deps.now(), messages),
  })
  return showPage(deps, exchange, page)
}

/** The form offers this many peers and apps: those that used their access last. */
const maxOffered = 500

function callersOf({ trusts, nameOf }: Peers): readonly PeerName[] {
  const latest =
    trusts.length <= maxOffered
      ? trusts
      : trusts.toSorted((a, b) => b.lastAccessed - a.lastAccessed).slice(0, maxOffered)
  return latest.map(({ peerId }) => nameOf(peerId)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the fields of the form. Texts that are no day are dropped, because the form would send them again. */
export function chosenOf({ caller = '', outcome, kind, property = '', from = '', to = '' }: PageQuery): ChosenFilter {
  const day = (text: string): string => (Number.isNaN(startOf(text)) ? '' : text)
  return { caller, outcome: outcome ?? '', kind: kind ?? '', property: property.trim(), from: day(from), to: day(to) }
}

export function filterOf({ caller, outcome, kind, property, from, to }: ChosenFilter): ActivityFilter {
  return {
    caller: caller === '' ? null : caller,
    outcome: outcome === '' ? null : outcome,
    kind: kind === '' ? null : kind,
    property: property === '' ? null : property,
    from: from === '' ? null : startOf(from),
    until: to === '' ? null : startOf(to) + dayMs,
  }
}

/** Start of a day (UTC), in Unix milliseconds. */
function startOf(day: string): number {
  return /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) : Number.NaN
}

interface RowContext extends Pick<ActivityPageDeps, 'featureActs'> {
  readonly peers: Peers
  readonly now: number
  readonly link: ((given: Record<string, string>) => string) | null
  readonly messages: Messages
  readonly tag: string
}

function rowOf(entry: AuditLogEntry, { peers, now, link, messages, tag, featureActs }: RowContext): ActivityRow {
  const isKnown = entry.callerKind === 'peer' || entry.callerKind === 'client'
  const peer = isKnown ? peerAtThatTime(peers, entry) : null
  return {
    at: momentOf(entry.at, now, messages),
    peer,
    who: peer?.name ?? strangerOf(entry, messages),
    what: visible(
      entry.callerKind === 'owner'
        ? ownSentence(entry, segmentsOf(entry.path), {
            words: messages.ownActs,
            tag,
            ofFeatures: featureActs,
            nameOf: (peerId) => peers.nameOf(peerId).name,
          })
        : sentenceOf(entry, messages),
    ),
    is_refused: entry.decision === 'refused',
    reason: visible(reasonOf(entry, messages)),
    times: entry.times,
    only_href: link === null || entry.caller === '' ? '' : link({ caller: entry.caller }),
    request: visible(`${entry.method} ${entry.path} ${entry.status}`),
  }
}

function strangerOf({ callerKind, caller, device }: AuditLogEntry, { activity: words }: Messages): string {
  if (callerKind === 'owner') return device === '' ? words.you : `${words.you} (${visible(device)})`
  if (callerKind === 'trustee') return words.trustee
  if (callerKind === 'operator') return words.operator(visible(caller))
  return caller === '' ? words.unknown : words.unknownAt(caller)
}

/** The words for an entry: what was done, or what was not allowed. */
export function sentenceOf(entry: AuditLogEntry, { didActs, toActs, activity }: Messages): string {
  const { act: requested, name } = actOf(entry)
  // The owner approves the connection, not the request for it.
  const isDecided = entry.decision === 'approved' || entry.decision === 'denied'
  const act = isDecided && requested === 'requestConnection' ? 'connect' : requested
  const inWords = (words: Messages['didActs']): string => {
    const word = words[act]
    return typeof word === 'string' ? word : word(name)
  }
  switch (entry.decision) {
    case 'allowed':
      return inWords(didActs)
    case 'asked':
      return activity.requestedApproval(inWords(toActs))
    case 'approved':
      return activity.gotApproval(inWords(toActs))
    case 'denied':
      return activity.gotNoApproval(inWords(toActs))
    default:
      return inWords(toActs)
  }
}

/** Reasons of the audit log that pages explain. It stores reasons in English. */
function reasonOf({ reason }: AuditLogEntry, { activityReasons: words }: Messages): string {
  const known: ReadonlyMap<string, string> = new Map(
    Object.entries({
      'the path is its own': words.ownPath,
      'the path names this peer': words.ownPath,
      'open to everybody': words.public,
      'an operator of the service': words.operates,
      [entryReasons.subscription]: words.subscription,
      [entryReasons.owner]: words.owns,
      'sent to sign in': words.askedToSignIn,
      'the relationship is not approved': words.notApproved,
      'the owner approved it': words.approvedByYou,
      'the owner denied it': words.deniedByYou,
      [heldBecause.waiting]: words.needsApproval,
      [heldBecause.denied]: words.deniedByYou,
    }),
  )
  const [, pattern, level] = /^\w+\.\w+ \("(.*)"\) of (\S+) allows it$/.exec(reason) ?? []
  if (pattern !== undefined && level !== undefined) return words.allowedBy(level, pattern)
  // The row already names the caller and the action.
  return known.get(reason) ?? reason.replace(/^(?:peer|client) \S+ may not [^:]*: /, '')
}

type Act = keyof Messages['didActs']

interface NamedAct {
  readonly act: Act
  readonly name: string
}

const mcpActs: ReadonlyMap<string, Act> = new Map([
  ['tools/call', 'callTool'],
  ['prompts/get', 'usePrompt'],
  ['resources/read', 'viewResource'],
])

/** Finds the act of a request to an actor. */
function actOf({ method, path, through }: Pick<AuditLogEntry, 'method' | 'path' | 'through'>): NamedAct {
  if (through === 'mcp') {
    const act = mcpActs.get(method)
    return act === undefined ? { act: 'mcpRequest', name: method } : { act, name: path.replace(/^\//, '') }
  }
  const [first = '', ...rest] = segmentsOf(path)
  if (through === 'push')
    return { act: rest.length === 0 ? 'receiveProperties' : 'receiveProperty', name: rest.join('/') }
  const find = actsOf.get(first)
  const name = rest.join('/')
  return find === undefined ? { act: 'openAddress', name: first } : find({ method, name, rest })
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1).map(decoded)
}

interface Addressed {
  readonly method: string
  /** Path below the first segment. */
  readonly name: string
  readonly rest: readonly string[]
}

type FindAct = (request: Addressed) => NamedAct

/** Acts of operators, by the rest of the path. */
const operatorActs: ReadonlyMap<string, Act> = new Map([
  ['redrive', 'redrive'],
  ['operators', 'changeOperators'],
  ['suspend', 'suspend'],
  ['resume', 'resume'],
  ['sign-out', 'signOutEverywhere'],
  ['sign-in-link', 'makeSignInLink'],
  ['reset-limits', 'resetLimits'],
  ['delete', 'deleteAccount'],
])

/** Acts by the first segment of the path. */
const actsOf: ReadonlyMap<string, FindAct> = new Map<string, FindAct>([
  ['', ({ name }) => ({ act: 'openAccount', name })],
  ['admin', ({ name }) => ({ act: operatorActs.get(name) ?? 'viewFacts', name: '' })],
  ['actions', ({ name }) => ({ act: name === '' ? 'listActions' : 'runAction', name })],
  ['callbacks', callbackAct],
  [
    'files',
    (request) => dataAct(request, { all: 'listFiles', read: 'viewFile', write: 'editFile', remove: 'deleteFile' }),
  ],
  ['meta', ({ name }) => ({ act: 'viewProfile', name })],
  ['methods', methodAct],
  ['permissions', ({ name }) => ({ act: 'viewAccess', name })],
  ['properties', propertyAct],
  [
    'resources',
    (request) =>
      dataAct(request, { all: null, read: 'viewOperation', write: 'editOperation', remove: 'deleteOperation' }),
  ],
  ['subscriptions', ({ method, rest }) => ({ act: subscriptionAct(method, rest.length), name: '' })],
  ['trust', ({ method, rest }) => ({ act: trustAct(method, rest), name: '' })],
])

interface DataActs {
  /** For a path without a name. Null: the same as with one. */
  readonly all: Act | null
  readonly read: Act
  readonly write: Act
  readonly remove: Act
}

function dataAct(
  { method, name }: Pick<Addressed, 'method' | 'name'>,
  { all, read, write, remove }: DataActs,
): NamedAct {
  if (name === '' && all !== null) return { act: all, name }
  if (method === 'GET') return { act: read, name }
  return { act: method === 'DELETE' ? remove : write, name }
}

function propertyAct({ method, name }: Addressed): NamedAct {
  const ofAll: DataActs = { all: null, read: 'listProperties', write: 'editProperties', remove: 'deleteProperties' }
  const ofOne: DataActs = { all: null, read: 'viewProperty', write: 'editProperty', remove: 'deleteProperty' }
  return dataAct({ method, name }, name === '' ? ofAll : ofOne)
}

function methodAct({ method, name }: Addressed): NamedAct {
  if (name !== '') return { act: 'callMethod', name }
  return { act: method === 'GET' ? 'listMethods' : 'callAnyMethod', name }
}

function subscriptionAct(method: string, depth: number): Act {
  if (method === 'POST') return depth > 1 ? 'requestUpdates' : 'subscribe'
  if (method === 'DELETE') return 'unsubscribe'
  if (method === 'PUT') return 'confirmUpdates'
  return depth > 1 ? 'fetchUpdates' : 'viewSubscriptions'
}

function callbackAct({ method, rest: [kind = ''] }: Addressed): NamedAct {
  if (kind === 'subscriptions') return { act: method === 'DELETE' ? 'endYours' : 'sendUpdate', name: kind }
  return { act: kind === 'permissions' ? 'sendAccess' : 'callCallback', name: kind }
}

function trustAct(method: string, rest: readonly string[]): Act {
  if (method === 'POST') return rest.length > 1 ? 'accept' : 'requestConnection'
  if (method === 'DELETE') return 'endConnection'
  if (rest.includes('permissions') || rest.includes('shared_properties')) return 'viewAccess'
  return method === 'PUT' ? 'editConnection' : 'viewConnection'
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
