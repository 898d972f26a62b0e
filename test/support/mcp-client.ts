/** Authorizes an AI client by writing its relationship and tokens to the store, and sends requests as that client. */
import { hashSecret } from '../../src/secret/hash.ts'
import { seal } from '../../src/secret/sealed.ts'
import { bindingOf, trustSecret, trustToken } from '../../src/secret/sealed-columns.ts'
import { randomPassphrase } from '../../src/secret/random.ts'
import { insertTrust } from '../../src/trust/trust-store.ts'
import { startService, type TestActor, type TestService } from './service.ts'

export interface ClientOptions {
  /** The trust type. Default: `friend`. */
  readonly relationship?: string
  readonly clientId?: string
  readonly audience?: string
  readonly scope?: string
  readonly approved?: boolean
}

export interface McpAnswer {
  readonly status: number
  readonly headers: Headers
  /** The JSON body, or null without a body. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface TestClient {
  readonly token: string
  readonly refreshToken: string
  readonly peerId: string
  readonly clientId: string
  readonly chainId: string
  /** Sends a request of protocol version 2025-11-25. */
  legacy(method: string, params?: object, headers?: Record<string, string>): Promise<McpAnswer>
  /** Sends a request of protocol version 2026-07-28, with its header fields. */
  modern(method: string, params?: object, options?: ModernOptions): Promise<McpAnswer>
  /** Sends any body. */
  send(body: string, headers?: Record<string, string>): Promise<Response>
}

export interface ModernOptions {
  readonly capabilities?: object
  readonly meta?: object
  readonly headers?: Record<string, string>
}

let made = 0

export async function authorizeClient(
  service: Pick<TestService, 'app' | 'url' | 'request'>,
  actor: Pick<TestActor, 'id' | 'creator'>,
  options: ClientOptions = {},
): Promise<TestClient> {
  const { parts, store, keyRing } = await service.app.running()
  const clientId = options.clientId ?? `mcp_${String(++made).padStart(32, '0')}`
  const peerId = `oauth2_client:${actor.creator.replace('@', '_at_').replaceAll('.', '_dot_')}:${clientId}`
  const now = store.now()
  const secret = randomPassphrase()
  const issued = await store.writeActor(actor.id, async (tx) => {
    await insertTrust(tx, {
      actorId: actor.id,
      peerId,
      baseuri: '',
      type: 'mcp',
      relationship: options.relationship ?? 'friend',
      secret: seal(keyRing, secret, bindingOf(trustSecret, actor.id, peerId)),
      secretHash: hashSecret(secret),
      verificationToken: seal(keyRing, secret, bindingOf(trustToken, actor.id, peerId)),
      description: '',
      approved: options.approved ?? true,
      nickname: '',
      approvedUntil: null,
      peerApproved: true,
      verified: true,
      establishedVia: 'oauth2_client',
      facts: { oauth_client_id: clientId, client_name: 'A test client' },
      createdAt: now,
      lastAccessed: now,
      lastConnectedVia: 'oauth',
      ownRequest: null,
    })
    return parts.tokens.startClient(
      tx,
      { actorId: actor.id, identifier: actor.creator, beganWith: 'mcp', device: 'A test client' },
      { clientId, peerId, audience: options.audience ?? `${service.url}/mcp`, scope: options.scope ?? 'mcp' },
    )
  })
  const send: TestClient['send'] = (body, headers = {}) =>
    service.request('/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${issued.accessToken}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
    })
  let id = 0
  return {
    token: issued.accessToken,
    refreshToken: issued.refreshToken,
    peerId,
    clientId,
    chainId: issued.chainId,
    send,
    legacy: async (method, params = {}, headers = {}) =>
      answerOf(await send(rpc(++id, method, params), { 'mcp-protocol-version': '2025-11-25', ...headers })),
    modern: async (method, params = {}, { capabilities = {}, meta = {}, headers = {} } = {}) => {
      const named = params as { name?: string; uri?: string; taskId?: string }
      const name = named.name ?? named.uri ?? named.taskId
      return answerOf(
        await send(
          rpc(++id, method, {
            ...params,
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientCapabilities': capabilities,
              ...meta,
            },
          }),
          {
            'mcp-protocol-version': '2026-07-28',
            'mcp-method': method,
            ...(name === undefined ? {} : { 'mcp-name': encoded(name) }),
            ...headers,
          },
        ),
      )
    },
  }
}

export function rpc(id: unknown, method: string, params: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** Subscribes to change notifications, in protocol version 2026-07-28. */
export function listen(
  client: TestClient,
  notifications: object,
  { capabilities = {}, id = 1 }: { capabilities?: object; id?: unknown } = {},
): Promise<Response> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  return client.send(rpc(id, 'subscriptions/listen', { notifications, _meta }), {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
  })
}

function encoded(name: string): string {
  return /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
}

async function answerOf(response: Response): Promise<McpAnswer> {
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? null : (JSON.parse(text) as unknown),
  }
}

/** Authorizes a client of a service in another process, through its database. That service must use the keys of the tests. */
export async function authorizeClientAt(
  url: string,
  databaseUrl: string,
  actor: Pick<TestActor, 'id' | 'creator'>,
  options: ClientOptions = {},
): Promise<TestClient> {
  const beside = await startService(databaseUrl, { logLevel: 'silent' })
  try {
    const request: TestService['request'] = (path, init) => fetch(`${url}${path}`, { redirect: 'manual', ...init })
    return await authorizeClient({ app: beside.app, url, request }, actor, options)
  } finally {
    await beside.close()
  }
}
