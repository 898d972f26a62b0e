/** A minimal peer client in which every address is an actor that accepts every request. */
import type { Timers } from '../../src/timers.ts'
import type { PeerClient, PeerRequest } from '../../src/peer/peer-client.ts'

/**
 * Records requests, and answers as an actor that accepts relationships (pending approval) and subscriptions. The root of
 * every service creates actors.
 */
export class FakePeers implements PeerClient {
  readonly calls: PeerRequest[] = []

  async call(request: PeerRequest) {
    this.calls.push(request)
    const { pathname, origin } = new URL(request.url)
    if (request.method === 'POST' && pathname === '/') {
      const headers = { location: `${origin}/made` }
      return { kind: 'answered', status: 201, headers, body: '{"passphrase":"of-the-one-that-was-made"}' } as const
    }
    if (request.method === 'POST' && /^\/[^/]+\/subscriptions\/[^/]+$/.test(pathname)) {
      const headers = { location: `${request.url}/made` }
      return { kind: 'answered', status: 201, headers, body: '{"subscriptionid":"made"}' } as const
    }
    const isMeta = request.method === 'GET' && pathname.endsWith('/meta')
    const body = isMeta
      ? JSON.stringify({ id: pathname.split('/').at(-2), type: 'urn:actingweb:example.com:test' })
      : request.method === 'GET'
        ? '{}'
        : ''
    const status = request.method === 'GET' ? 200 : /^\/[^/]+\/trust\/[^/]+$/.test(pathname) ? 202 : 204
    return { kind: 'answered', status, headers: {}, body } as const
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** Timers that never fire, so that only requests and no retries use the store. */
export const stoppedTimers: Timers = { setTimer: () => () => {} }
