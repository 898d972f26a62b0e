/** The programs that act for an owner: AI clients and others with tokens of the authorization server. */
import type { Tokens } from '../../token/tokens.ts'
import type { Trust } from '../../trust/trust.ts'
import type { Self } from '../../trust/trust-deps.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { Client } from '../client.ts'
import type { Clients } from '../clients.ts'
import { placeOf } from '../redirect-uri.ts'

export interface ConnectedAppDeps {
  readonly trusts: Pick<Trusts, 'pages' | 'find' | 'delete'>
  readonly clients: Pick<Clients, 'registered'>
  readonly tokens: Pick<Tokens, 'clientsOf'>
}

export interface ConnectedAppFacts {
  readonly trust: Trust
  /** Undefined when the registration of the client was deleted. */
  readonly client: Client | undefined
  /** Unix milliseconds. */
  readonly lastUsedAt: number
  /** Whether the app has a valid token. */
  readonly hasAccess: boolean
}

/** Maximum number of apps in a list: an owner could not review more. */
const maxListed = 200

/** Lists the connected apps, at most 200. */
export async function connectedApps(
  { trusts, clients, tokens }: ConnectedAppDeps,
  actorId: string,
): Promise<readonly ConnectedAppFacts[]> {
  const chains = await tokens.clientsOf(actorId)
  const apps: Trust[] = []
  for await (const page of trusts.pages(actorId)) {
    apps.push(...page.filter(isApp).slice(0, maxListed - apps.length))
    if (apps.length === maxListed) break
  }
  const registered = await clients.registered(apps.flatMap(({ facts }) => facts.oauth_client_id ?? []))
  return apps.map((trust) => {
    const own = chains.filter(({ client }) => client?.peerId === trust.peerId)
    return {
      trust,
      client: registered.get(trust.facts.oauth_client_id ?? ''),
      lastUsedAt: Math.max(trust.lastAccessed, ...own.map(({ lastUsedAt }) => lastUsedAt)),
      hasAccess: own.length > 0,
    }
  })
}

/** Ends the access of an app at once, with its relationship. Returns false when no such app is connected. */
export async function disconnectApp(
  { trusts }: Pick<ConnectedAppDeps, 'trusts'>,
  actor: Self,
  peerId: string,
): Promise<boolean> {
  const trust = await trusts.find(actor.id, peerId)
  if (trust === null || !isApp(trust)) return false
  return trusts.delete(actor, trust.peerId, null, { byPeer: false, notify: true })
}

function isApp({ establishedVia }: Trust): boolean {
  return establishedVia.startsWith('oauth2')
}

/**
 * Returns the redirect address of an app, which identifies it better than the name that it chose itself: the host, or the
 * scheme of an application on a device, such as `com.example.app:`. Empty: unknown.
 */
export function redirectPlace({ trust, client }: Pick<ConnectedAppFacts, 'trust' | 'client'>): string {
  const { oauth_client_id: clientId = '', client_host: host } = trust.facts
  return host ?? placeOf(client?.redirectUris[0] ?? (clientId.startsWith('https://') ? clientId : ''))
}
