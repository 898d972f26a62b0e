/** `createClient`: the client of an actor, for browsers and Node.js. It has no dependencies. */
import type { InputOf, NameOf, ResultOf } from '../app/declared-operations.ts'
import type { PropertyPath } from '../app/property-path.ts'
import type { Json } from '../json/json.ts'
import type { ClientOperations, DataName, GivenItemOf, GivenValueOf, ItemOf, ValueOf } from './application-types.ts'
import { type CallApprovals, callApprovals } from './approvals.ts'
import { connect, type RequestSender, type AccessCredentials, pathOf, type RequestOptions } from './connection.ts'
import { type ClientList, clientList, type ReadableList, readableList } from './list-handle.ts'
import { type ClientHistory, clientHistory } from './history.ts'
import { ChangeStream } from './live.ts'
import { type ClientProperty, type ClientValue, clientProperty, clientValue } from './property-handle.ts'
import { type PeerRelationships, peerRelationships } from './peers.ts'
import { PageSession } from './page-session.ts'
import {
  type BrowserPage,
  type ClientSession,
  type OfferedProvider,
  offeredProviders,
  serviceSender,
  type SendToService,
  type SessionSource,
  type TabStorage,
} from './session-state.ts'
import { TokenSession, type TokenStorage } from './token-session.ts'
import { Watched } from './watched.ts'

/** The options of `createClient`. @public */
export interface TroupeClientOptions {
  /** Base URL of the service. Default in a browser: the origin of the page. */
  readonly url?: string
  /** The credential of a program: an API key or an access token, and the id of its actor. Default: a person signs in. */
  readonly credential?: { readonly actorId: string; readonly token: string }
  /**
   * Where a person signs in: `pages` for the pages of the service, whose cookie then authorizes the requests. The client
   * must run on a page of the service itself. Default: the client sends the browser to an identity provider, and has tokens.
   */
  readonly signIn?: 'pages'
  /**
   * Keeps the refresh token. Default: none, so that the service keeps it in a cookie that no script can read. A program
   * outside of a browser, and a page of another site, need a storage.
   */
  readonly storage?: TokenStorage
  /** Sends the requests. Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch
}

/**
 * The actor of the person who is signed in, or of a credential.
 *
 * @typeParam Application the type of the application, or of its module: `import type * as app from './app.ts'`.
 * @public
 */
export interface TroupeClient<Application = unknown> {
  // Session

  readonly session: ClientSession
  /** Ends a sign-in that returned to this page, or restores the session by its refresh token. */
  restore(): Promise<ClientSession>
  /** Calls the listener after each change of the session. Returns the function that ends this. */
  readonly onSession: (listener: (session: ClientSession) => void) => () => void
  /** Lists the providers with which a person can sign in. */
  providers(): Promise<readonly OfferedProvider[]>
  /**
   * Sends the browser to the provider, which sends it back to `returnTo`. Default: the first provider, and the open page.
   *
   * @throws RequestFailed `no_browser`
   */
  signIn(provider?: string, options?: { readonly returnTo?: string }): Promise<void>
  signOut(): Promise<void>

  // The actor

  action<Name extends NameOf<ClientOperations<Application, '~actions'>>>(
    name: Name,
    ...input: InputOf<ClientOperations<Application, '~actions'>, Name>
  ): Promise<ResultOf<ClientOperations<Application, '~actions'>, Name>>
  method<Name extends NameOf<ClientOperations<Application, '~methods'>>>(
    name: Name,
    ...input: InputOf<ClientOperations<Application, '~methods'>, Name>
  ): Promise<ResultOf<ClientOperations<Application, '~methods'>, Name>>
  property<Name extends DataName<Application, 'property'>>(
    name: Name,
  ): ClientProperty<ValueOf<Application, Name>, GivenValueOf<Application, Name>>
  /** A value below a property: `['settings', 'theme']`. */
  property(path: readonly [string, string, ...string[]]): ClientProperty<Json | undefined, Json | object>
  list<Name extends DataName<Application, 'list'>>(
    name: Name,
  ): ClientList<ItemOf<Application, Name>, GivenItemOf<Application, Name>>
  /** The copy of a peer's data that subscriptions update. */
  peer<Other = Application>(peerId: string): ClientPeer<Other>
  /** The relationships with other actors. */
  readonly peers: PeerRelationships
  /**
   * The result of any read, such as the call of an action, with its state. While someone follows it, each change of the actor
   * repeats the read. Create it once, outside of a component.
   */
  watched<Value>(read: () => Promise<Value>): Watched<Value>
  /** Calls that wait for the owner's approval. */
  readonly approvals: CallApprovals
  /** The changes of properties and lists, which the owner takes back. @experimental */
  readonly history: ClientHistory
  /**
   * Sends a request to a path below the actor, such as `/sessions`.
   *
   * @throws RequestFailed for a status of 400 or more, and without a response.
   */
  request(method: string, path: string, options?: RequestOptions): Promise<Response>
}

/** The copy that the actor has of a peer’s data. @public */
export interface ClientPeer<Application> {
  readonly id: string
  property<Name extends DataName<Application, 'property'>>(
    name: Name,
  ): ClientValue<ValueOf<Application, Name> | undefined>
  list<Name extends DataName<Application, 'list'>>(name: Name): ReadableList<ItemOf<Application, Name>>
}

/**
 * Creates the client of an application: `createClient<typeof app>()` with `import type * as app from './app.ts'`.
 *
 * Every call throws `RequestFailed`.
 *
 * @public
 */
export function createClient<Application = unknown>(options: TroupeClientOptions = {}): TroupeClient<Application> {
  const browser = pageOf()
  const url = (options.url ?? originOf(browser)).replace(/(?<!\/)\/+$/, '')
  const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init))
  const toService = serviceSender(url, send)
  const source = sessionOf(options, { url, browser, send: toService })
  const connection = connect(url, send, credentialsOf(source, options.credential))
  const live = new ChangeStream(connection)
  source.state.onChange(({ state }) => {
    if (state === 'signed-in') live.restart()
    else if (state === 'signed-out') live.end()
  })
  const fixed: ClientSession | null =
    options.credential === undefined ? null : { state: 'signed-in', actorId: options.credential.actorId }
  return {
    get session() {
      return fixed ?? source.state.current
    },
    restore: async () => fixed ?? source.restore(),
    onSession: source.state.onChange,
    providers: () => offeredProviders(toService),
    signIn: (provider, target) => source.signIn(provider, target),
    signOut: () => source.signOut(),
    ...actorOf<Application>(connection, live),
  }
}

type ActorPart =
  | 'action'
  | 'method'
  | 'property'
  | 'list'
  | 'peer'
  | 'peers'
  | 'watched'
  | 'approvals'
  | 'history'
  | 'request'

function actorOf<Application>(
  connection: RequestSender,
  live: ChangeStream,
): Pick<TroupeClient<Application>, ActorPart> {
  const properties = new Map<string, ClientProperty<never, unknown>>()
  const lists = new Map<string, ClientList<never, unknown>>()
  const peers = new Map<string, ClientPeer<never>>()
  const call = async (kind: string, name: string, input: unknown): Promise<never> => {
    const response = await connection.request('POST', `/${kind}${pathOf([name])}`, { body: input ?? {} })
    return (response.status === 204 ? undefined : await response.json()) as never
  }
  return {
    action: (name, ...[input]) => call('actions', name, input),
    method: (name, ...[input]) => call('methods', name, input),
    property: (path: PropertyPath) =>
      remembered(properties, JSON.stringify(path), () => clientProperty(connection, live, path)) as never,
    list: (name) => remembered(lists, name, () => clientList(connection, live, name)),
    peer: (peerId) => remembered(peers, peerId, () => peerHandle(connection, live, peerId)) as never,
    peers: peerRelationships(connection, live),
    watched: (read) => new Watched(live, { concerns: () => true, read }),
    approvals: callApprovals(connection, live),
    history: clientHistory(connection),
    request: (method, path, options) => connection.request(method, path, options),
  }
}

function peerHandle(connection: RequestSender, live: ChangeStream, peerId: string): ClientPeer<never> {
  const values = new Map<string, ClientValue<never>>()
  const lists = new Map<string, ReadableList<never>>()
  const source = (name: string) => ({
    address: `/remote${pathOf([peerId, name])}`,
    category: 'remote',
    name: peerId,
    changed: peerId,
  })
  return {
    id: peerId,
    property: (name: string) => remembered(values, name, () => clientValue(connection, live, source(name))),
    list: (name: string) =>
      remembered(lists, name, () => {
        const { address, ...rest } = source(name)
        return readableList(connection, live, { ...rest, name, address: `${address}/items` })
      }),
  }
}

/** Handles stay the same objects, so that React compares them and readers share one state. */
function remembered<Handle>(handles: Map<string, Handle>, key: string, create: () => Handle): Handle {
  const known = handles.get(key)
  if (known !== undefined) return known
  const handle = create()
  handles.set(key, handle)
  return handle
}

/** @throws TypeError for `signIn: 'pages'` outside of a browser. */
function sessionOf(
  { signIn, storage }: TroupeClientOptions,
  { url, browser, send }: { readonly url: string; readonly browser: BrowserPage | null; readonly send: SendToService },
): SessionSource {
  if (signIn === undefined) return new TokenSession({ url, send, storage: storage ?? null, browser })
  if (browser !== null) return new PageSession({ url, send, browser })
  throw new TypeError("Cannot create the client: signIn 'pages' needs a page of the service")
}

function credentialsOf(source: SessionSource, credential: TroupeClientOptions['credential']): AccessCredentials {
  if (credential === undefined) return { tokens: () => source.tokens(), renew: (refused) => source.renew(refused) }
  const { actorId, token: accessToken } = credential
  return { tokens: async () => ({ accessToken, actorId }), renew: async () => null }
}

interface BrowserGlobals {
  readonly location?: { readonly href: string; assign(address: string): void }
  readonly history?: { replaceState(state: unknown, title: string, address: string): void }
  readonly sessionStorage?: TabStorage
}

/** The page in which the code runs, if it runs in a browser. */
function pageOf(): BrowserPage | null {
  const { location, history } = globalThis as BrowserGlobals
  if (location === undefined || history === undefined) return null
  return {
    address: () => location.href,
    rename: (address) => history.replaceState(null, '', address),
    open: (address) => location.assign(address),
    tab: tabStorage(),
  }
}

/** Reading the member throws where the browser blocks storage. */
function tabStorage(): TabStorage | null {
  try {
    return (globalThis as BrowserGlobals).sessionStorage ?? null
  } catch {
    return null
  }
}

function originOf(browser: BrowserPage | null): string {
  if (browser === null) throw new TypeError('Cannot create the client: url is missing')
  return new URL(browser.address()).origin
}
