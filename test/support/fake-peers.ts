/** Other actors, in a few lines: every address is one, and takes every request. */
import type { PeerClient, PeerRequest } from '../../src/peer/peer-client.ts'

/** Records what it is asked and answers as an actor that takes every relationship and waits for approval. */
export class FakePeers implements PeerClient {
  readonly calls: PeerRequest[] = []

  async call(request: PeerRequest) {
    this.calls.push(request)
    const { pathname } = new URL(request.url)
    const isMeta = request.method === 'GET' && pathname.endsWith('/meta')
    const body = isMeta
      ? JSON.stringify({ id: pathname.split('/').at(-2), type: 'urn:actingweb:example.com:peer' })
      : ''
    const status = isMeta ? 200 : /^\/[^/]+\/trust\/[^/]+$/.test(pathname) ? 202 : 204
    return { kind: 'answered', status, headers: {}, body } as const
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
