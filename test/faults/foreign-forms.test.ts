/** Pages and forms of an actor, requested by callers other than the owner. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { github, google } from '../../src/index.ts'
import { relate } from '../support/friends.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { leavesAll } from '../support/stored.ts'

/** Headers by which a browser reports a cross-site form post. */
const foreignOrigins: readonly Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { origin: 'https://evil.example.com' },
  { origin: 'null' },
]

forEachService((start) => {
  describe('a caller that is not the owner', () => {
    it('cannot see a page or send a form of the actor (WEB-04, R-WEB-05)', async () => {
      const service = await start({
        listen: true,
        peerProfileAttributes: [],
        // Without a provider, the passphrase opens the pages: see test/stories/pages-by-passphrase.test.ts.
        signIn: [google({ clientId: 'web', clientSecret: 'hush' }), github({ clientId: 'hub', clientSecret: 'hush' })],
      })
      const actor = await service.createActor()
      const peer = await service.createActor('peer@example.com')
      const browser = await OwnersBrowser.open(service, actor)
      const related = await relate(peer, [service, actor])
      const wish = { peerid: actor.id, target: 'properties', granularity: 'high' }
      const subscribed = await peer.request('POST', '/subscriptions', wish)
      const id = subscribed.headers.get('location')?.split('/').at(-1)
      const client = await authorizeClient(service, actor)
      const stranger = await OwnersBrowser.open(service, peer)
      const paths = [
        '/trust',
        '/trust/new',
        `/trust/${peer.id}`,
        `/trust/${peer.id}/view`,
        '/subscriptions',
        `/subscriptions/${peer.id}/${id}`,
        '/apps',
        '/requests',
        '/activity',
      ]
      for (const path of paths) {
        assert.equal((await related.request('GET', `/www${path}`)).status, 403)
        assert.equal((await actor.request('GET', `/www${path}`)).status, 302)
        const statusWith = async (headers: Record<string, string>): Promise<number> =>
          (await service.request(`/${actor.id}/www${path}`, { headers })).status
        assert.equal(await statusWith({ cookie: `oauth_token=${stranger.token}` }), 403, path)
        for (const token of [stranger.token, client.token]) {
          assert.ok([401, 403].includes(await statusWith({ authorization: `Bearer ${token}` })), path)
        }
      }
      const forms: readonly (readonly [path: string, fields: Record<string, string>])[] = [
        [`/trust/${peer.id}`, { action: 'end' }],
        [`/trust/${peer.id}/permissions`, { step: 'save', 'properties.allowed': 'private' }],
        ['/trust/new', { peer_url: `${service.url}/${peer.id}`, trust_type: 'friend' }],
        [`/subscriptions/${peer.id}/${id}`, { action: 'end' }],
        ['/apps', { action: 'end_other_sessions' }],
        ['/apps', { action: 'revoke', peerid: client.peerId }],
        ['/approvals/none', { decision: 'allow' }],
      ]
      for (const [path, fields] of forms) {
        for (const headers of foreignOrigins) await leavesAll(service, () => browser.send(path, fields, headers), 403)
        const wrong = { ...fields, csrf_token: 'x'.repeat(43) }
        await leavesAll(service, () => browser.send(path, wrong, { origin: 'null' }), 403)
        const body = new URLSearchParams(fields).toString()
        const form = { 'content-type': 'application/x-www-form-urlencoded' }
        const send = (token: string): Promise<Response> =>
          service.request(`/${actor.id}/www${path}`, {
            method: 'POST',
            headers: { ...form, authorization: `Bearer ${token}` },
            body,
          })
        await leavesAll(service, () => send(related.secret), 403)
        for (const token of [stranger.token, client.token]) {
          await leavesAll(
            service,
            async () => {
              const { status } = await send(token)
              return new Response(null, { status: status === 401 ? 403 : status })
            },
            403,
          )
        }
        await leavesAll(service, () => actor.request('POST', `/www${path}`, body, form), 302)
      }
    })
  })
})
