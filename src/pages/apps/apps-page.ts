/** Shows the page of connected apps, API keys and sessions. */
import type { ServiceError } from '../../errors.ts'
import {
  type ConnectedAppDeps,
  type ConnectedAppFacts,
  connectedApps,
  redirectPlace,
} from '../../authorization-server/apps/connected-apps.ts'
import { type AppActs, canPause, canResume } from '../../authorization-server/apps/app-acts.ts'
import type { KeyActs } from '../../authorization-server/key-acts.ts'
import type { SessionActs } from '../../token/session-acts.ts'
import type { AuditLog } from '../../audit-log/audit-log.ts'
import type { Chain } from '../../token/chain.ts'
import { isApprovedAt } from '../../trust/trust.ts'
import { onNewDevices } from './new-devices.ts'
import type { TypedKey } from './new-key.ts'
import type { AppGroup, AppsValues, ConnectedApp, KeyRow, SessionRow } from './values.ts'
import { momentOf } from '../shared/time.ts'
import { rightsInWords } from '../shared/rights.ts'
import { visible } from '../shared/visible.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { peerName, shownText } from '../shared/peer-names.ts'
import type { Messages } from '../languages/language.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { trustTypeName } from '../shared/trust-rows.ts'
import type { Sessions } from '../../token/sessions.ts'
import { type CreatedKey, type Key, type Keys, keyTrustType } from '../../authorization-server/keys.ts'
import type { Permissions } from '../../trust/permissions.ts'
import type { Relationships } from '../../trust/relationships.ts'
import type { Config } from '../../config/options.ts'
import type { View } from '../shared/values.ts'

export interface AppPageDeps extends PageDeps, Omit<ConnectedAppDeps, 'trusts'> {
  readonly auditLog: Pick<AuditLog, 'requestsOfPrograms'>
  readonly sessions: Sessions
  readonly keys: Keys
  readonly appActs: AppActs
  readonly keyActs: KeyActs
  readonly sessionActs: SessionActs
  readonly permissions: Permissions
  readonly relationships: Relationships
  readonly config: Pick<Config, 'mcp'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly apps: View<AppsValues>
  }
}

/** Days whose requests are counted. */
const daysOfCalls = 7
/** Maximum number of sessions: an owner could not review more. */
const maxShown = 200

/** The result of a form that shows the page again. */
interface AppsOutcome {
  readonly error?: ServiceError
  readonly typedKey?: TypedKey
  readonly createdKey?: CreatedKey
}

export async function showApps(
  deps: AppPageDeps,
  exchange: PageExchange,
  { error, typedKey: typed, createdKey }: AppsOutcome = {},
): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const [values, sessions, apps, keys, calls] = await Promise.all([
    pageValues(deps, exchange, '/apps', error),
    deps.sessions.list(actor.id),
    connectedApps(deps, actor.id),
    deps.keys.list(actor.id),
    deps.auditLog.requestsOfPrograms(actor.id, daysOfCalls),
  ])
  const callsOf = (peerId: string): number | null => (calls === null ? null : (calls.get(peerId) ?? 0))
  const current = caller.kind === 'creator' ? caller.session : undefined
  const unknown = new Set(onNewDevices(sessions, current, deps.now()))
  const page = deps.pages.apps({
    ...values,
    sessions: sessions
      .slice(0, maxShown)
      .map((chain) => sessionRow(chain, { current, isNew: unknown.has(chain), now: deps.now(), messages })),
    groups: await groupsOf(deps, exchange, apps, { www: values.actor_www, callsOf }),
    keys: keys
      .slice(0, maxShown)
      .map((key) => ({ ...keyRow(deps, key, values.actor_www, messages), calls: callsOf(key.id) })),
    created_key:
      createdKey === undefined
        ? null
        : { name: shownText(keys.find(({ id }) => id === createdKey.id)?.name ?? ''), key: createdKey.key },
    typed_key: typed ?? null,
    mcp_url: deps.config.mcp ? `${deps.baseUrl}/mcp` : '',
    form_action: `${values.actor_www}/apps`,
  })
  return showPage(deps, exchange, page, error?.status)
}

function keyRow(
  { relationships, now }: AppPageDeps,
  { id, name, approved, rules, createdAt, lastUsedAt, until }: Key,
  www: string,
  messages: Messages,
): Omit<KeyRow, 'calls'> {
  const at = now()
  const override = { rules, createdBy: '', notes: '', updatedAt: createdAt }
  return {
    id,
    name: shownText(name),
    href: `${www}/trust/${id}`,
    is_approved: approved,
    rights: rightsInWords(relationships.effective(keyTrustType, override), messages).filter(
      ({ is_granted }) => is_granted,
    ),
    created: momentOf(createdAt, at, messages),
    last_used: lastUsedAt === null ? null : momentOf(lastUsedAt, at, messages),
    ends: until === null ? null : momentOf(until, at, messages),
    can_pause: canPause({ approved, approvedUntil: until }, at),
    can_resume: canResume(relationships.types, { approved, relationship: keyTrustType }),
  }
}

function sessionRow(
  chain: Chain,
  shown: { current: string | undefined; isNew: boolean; now: number; messages: Messages },
): SessionRow {
  const { current, isNew, now, messages } = shown
  const { devices } = messages
  const how = beginnings.find((name) => name === chain.beganWith)
  return {
    id: chain.chainId,
    device: shownDevice(chain, messages),
    began_with: how === undefined ? chain.beganWith : devices[how],
    began: momentOf(chain.createdAt, now, messages),
    last_used: momentOf(chain.lastUsedAt, now, messages),
    ends: momentOf(chain.endsAt, now, messages),
    is_current: chain.chainId === current,
    is_new: isNew,
  }
}

/** The device of a session in words, such as `Firefox on Linux`. */
export function shownDevice({ device }: Pick<Chain, 'device'>, { devices }: Messages): string {
  return device === '' ? devices.unknown : capital(visible(device))
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** How sessions begin. The messages have the words. */
const beginnings = ['web', 'spa', 'mobile', 'native', 'passphrase', 'email', 'import', 'host', 'operator'] as const

async function groupsOf(
  deps: AppPageDeps,
  { actor, request }: PageExchange,
  apps: readonly ConnectedAppFacts[],
  { www, callsOf }: { readonly www: string; readonly callsOf: (peerId: string) => number | null },
): Promise<readonly AppGroup[]> {
  const peerIds = apps.map(({ trust }) => trust.peerId)
  const overrides = await deps.permissions.overrides(actor.id, peerIds)
  const now = deps.now()
  const { messages } = deps.languages.of(request)
  const connected = ({ trust, client, lastUsedAt, hasAccess }: ConnectedAppFacts): ConnectedApp => {
    const until = client?.until ?? null
    const effective = deps.relationships.effective(trust.relationship, overrides.get(trust.peerId) ?? null)
    return {
      peer: peerName(trust, undefined, www, messages),
      relationship_name: trustTypeName(deps.relationships.types, trust.relationship),
      is_approved: isApprovedAt(trust, now),
      approval_ends: trust.approvedUntil === null ? null : momentOf(trust.approvedUntil, now, messages),
      client_ends: until === null ? null : momentOf(until, now, messages),
      has_ended: until !== null && until <= now,
      rights: rightsInWords(effective, messages).filter(({ category }) => shownCategories.has(category)),
      first_used: momentOf(trust.createdAt, now, messages),
      last_used: momentOf(lastUsedAt, now, messages),
      has_access: hasAccess,
      calls: callsOf(trust.peerId),
      can_pause: canPause(trust, now),
      can_resume: canResume(deps.relationships.types, trust),
    }
  }
  const groups = new Map<string, { name: string; redirect_host: string; is_local: boolean; apps: ConnectedApp[] }>()
  for (const app of apps) {
    const shown = connected(app)
    const redirected = redirectPlace(app)
    // All ports of this machine are one place.
    const isLocal = localPlace.test(redirected)
    const place = isLocal ? 'localhost' : visible(redirected)
    const { name } = shown.peer
    const key = JSON.stringify([name, place])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { name, redirect_host: place, is_local: isLocal, apps: [shown] })
    else group.apps.push(shown)
  }
  return [...groups.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The rights that matter most to an owner. The page of the relationship has all. */
const shownCategories: ReadonlySet<string> = new Set(['properties', 'files', 'tools'])

const localPlace = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/
