/** A service whose operator controls all of its answers, in a network of test services. */
import { randomBytes } from 'node:crypto'
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import { hashSecret } from '../../src/secret/hash.ts'
import type { ServiceNetwork } from './service-network.ts'
import type { TestService } from './service.ts'

export interface EvilKeys {
  readonly shown: object
  readonly kept: object
}

export async function newEvilKeys(): Promise<EvilKeys> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  return { shown: await exportJWK(publicKey), kept: await exportJWK(privateKey) }
}

export async function signJws(key: object, typ: string, claims: Record<string, unknown>): Promise<string> {
  const iat = Math.floor(Date.now() / 1000)
  return new SignJWT({ iat, ...claims }).setProtectedHeader({ alg: 'EdDSA', typ }).sign(await importJWK(key, 'EdDSA'))
}

/** A statement of a moved actor to a peer, with honest times unless `change` has others. */
export function evilStatement(
  key: object,
  to: { readonly from: string; readonly peer: string },
  change: Record<string, unknown> = {},
): Promise<string> {
  const now = Date.now()
  const iat = Math.floor(now / 1000)
  return signJws(key, 'actor-moved+jwt', {
    iss: to.from,
    sub: to.from.slice(to.from.lastIndexOf('/') + 1),
    aud: to.peer,
    secret: 'evil'.repeat(10),
    approved: true,
    moved_at: now,
    stated_at: now,
    iat,
    exp: iat + 200,
    ...change,
  })
}

/** The evil home of one id. */
export class EvilHome {
  readonly url: string
  readonly token = randomBytes(32).toString('base64url')
  readonly code = 'evil-code'
  keys: EvilKeys = { shown: {}, kept: {} }
  /** The answer of `/meta/moving`. Null: 404. */
  document: object | null = null
  /** The key that the new service answered to the announcement. */
  newKey: object = {}
  readonly #id: string

  private constructor(origin: string, id: string) {
    this.url = `${origin}/${id}`
    this.#id = id
  }

  static async start(network: ServiceNetwork, id: string, origin = 'https://evil.example.com'): Promise<EvilHome> {
    const home = new EvilHome(origin, id)
    home.keys = await newEvilKeys()
    network.serve(origin, (request) =>
      home.document !== null && request.url.endsWith('/meta/moving')
        ? new Response(JSON.stringify(home.document), { status: 200 })
        : new Response('{"error":"not_found"}', { status: 404 }),
    )
    return home
  }

  /** Announces a move. Resolves with the status. */
  async announce(to: TestService): Promise<number> {
    this.document = {
      state: 'moving',
      to: `${to.url}/${this.#id}`,
      key: this.keys.shown,
      token_hash: hashSecret(this.token),
    }
    const answer = await to.request('/moves', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        actor: this.#id,
        from: this.url,
        token: this.token,
        claim_hash: hashSecret(this.code),
      }),
    })
    if (answer.status === 201) this.newKey = ((await answer.json()) as { key: object }).key
    return answer.status
  }

  /** Sends an archive with these records, and members of its header. Resolves with the status. */
  async send(to: TestService, records: readonly object[] = [], head: object = {}): Promise<number> {
    const honest = { version: 1, actor: this.#id, creator: 'mallory', created_at: '2026-01-01T00:00:00Z' }
    const lines = [{ kind: 'archive', ...honest, ...head }, ...records, { kind: 'end', records: records.length + 1 }]
    const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    return (await this.call(to, 'PUT', '', body)).status
  }

  /** Publishes a notice that names the service. */
  async leave(to: { readonly url: string }, newKey: object = this.newKey): Promise<void> {
    const at = `${to.url}/${this.#id}`
    const claims = { iss: this.url, sub: this.#id, moved_to: at, key: newKey, moved_at: Date.now() }
    const notice = await signJws(this.keys.kept, 'actor-move+jwt', claims)
    this.document = { state: 'moved', to: at, key: this.keys.shown, notice }
  }

  async activate(to: TestService): Promise<number> {
    return (await this.call(to, 'POST', '/activation')).status
  }

  call(to: TestService, method: string, path: string, body?: string): Promise<Response> {
    return to.request(`/moves/${this.#id}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}` },
      ...(body === undefined ? {} : { body }),
    })
  }
}
