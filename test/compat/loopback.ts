/** Clients that were given another name of this machine than the one in `BASE_URL` of a service in development. */
import assert from 'node:assert/strict'
import { TestBrowser } from '../support/sign-in.ts'
import type { TestService } from '../support/service.ts'
import { aiPackages } from './ai-packages.ts'
import { aiShapes } from './ai-shapes.ts'
import { oauthClients } from './oauth-clients.ts'
import type { CompatRow, World } from './row.ts'

/** The browser of the owner, which the client opens at its own name of the service. */
class RedirectedBrowser extends TestBrowser {
  readonly #named: TestService

  constructor(browser: TestBrowser, named: TestService) {
    super(browser.service)
    this.#named = named
    for (const [name, value] of browser.cookies) this.cookies.set(name, value)
  }

  override async get(address: string, headers: Record<string, string> = {}): Promise<Response> {
    if (!address.startsWith('/oauth/authorize?')) return super.get(address, headers)
    const redirected = await this.#named.request(address, { headers: { accept: 'text/html' } })
    assert.equal(redirected.status, 307)
    return super.get(redirected.headers.get('location') ?? '', headers)
  }
}

/** The same service as the client sees it at `localhost`. The service of the rows has the base URL `http://127.0.0.1:<port>`. */
function atLocalhost(world: World): World {
  const url = world.service.url.replace('//127.0.0.1:', '//localhost:')
  assert.notEqual(url, world.service.url)
  const service: TestService = {
    ...world.service,
    url,
    request: (path, init = {}) => fetch(`${url}${path}`, { redirect: 'manual', ...init }),
  }
  const browser = async (): Promise<TestBrowser> => new RedirectedBrowser(await world.browser(), service)
  const { provider, start, atEnd } = world
  return { service, provider, start, atEnd, browser }
}

const clients: ReadonlySet<string> = new Set([
  'TypeScript SDK 1.12.3',
  'TypeScript SDK 1.32.2',
  'Claude Code 2025-10',
  'Codex 2026-05',
  'Gemini CLI 2026-06',
  'VS Code 2025-11',
  'Cursor 2026-06',
  'oauth4webapi 3.8.8',
  'openid-client 6.8.9',
])

export const loopbackRows: readonly CompatRow[] = [...aiPackages, ...aiShapes, ...oauthClients]
  .filter(({ client, version }, index, all) => {
    const isFirst = all.findIndex((other) => other.client === client && other.version === version) === index
    return isFirst && clients.has(`${client} ${version}`)
  })
  .map((row) => ({
    ...row,
    flow: `given \`localhost\` while \`BASE_URL\` says \`127.0.0.1\`, in development: ${row.flow}`,
    run: (world) => row.run(atLocalhost(world)),
  }))
