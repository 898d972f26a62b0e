/** Other actors, in a few lines: every address is one, and takes every request. */
import type { Timers } from '../../src/timers.ts'
import type { PeerClient, PeerRequest } from '../../src/peer/peer-client.ts'

/**
 * Records what it is asked, and answers as an actor that takes every relationship, waits for approval and can be listened to; the root of
 * every service is a factory.
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

/** Nothing comes later: what waits to be tried again is not, so that requests alone touch the store. */
export const stoppedTimers: Timers = { setTimer: () => () => {} }
