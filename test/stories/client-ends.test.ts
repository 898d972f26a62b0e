/** OAuth clients whose access ends at a time that their application declared. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActorHandle } from '../../src/index.ts'
import {
  authorizePath,
  type ClientTokens,
  codeFor,
  mcpStatus,
  newPkce,
  redemption,
  redirectUri,
  requestTokens,
} from '../support/oauth-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()
const minute = 60_000
const hour = 60 * minute

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly actor: ActorHandle
  /** The time at the beginning. The time of the test moves only by `pass`. */
  readonly begin: number
  readonly pass: (milliseconds: number) => void
}

interface TokenAnswer extends ClientTokens {
  readonly expires_in: number
  readonly error?: string
}

forEachService((start) => {
  async function open(): Promise<World> {
    const begin = Date.now()
    let time = begin
    const service = await start({ ...signInAt(await provider()), now: () => time })
    const owner = await service.createActor('owner@example.com')
    const actor = await service.app.actors.get(owner.id)
    assert.ok(actor !== undefined)
    return {
      service,
      owner,
      actor,
      begin,
      pass: (milliseconds) => {
        time += milliseconds
      },
    }
  }

  async function tokens(service: TestService, form: Record<string, string>): Promise<[number, TokenAnswer]> {
    const answer = await requestTokens(service, form)
    return [answer.status, (await answer.json()) as TokenAnswer]
  }

  const byItself = (clientId: string, secret: string): Record<string, string> => ({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: secret,
  })

  describe('a client with an end', () => {
    it('gets and uses tokens until its end, and no token outlives it', async () => {
      const { service, actor, begin, pass } = await open()
      const until = new Date(begin + 2 * hour)
      const { client, secret } = await actor.clients.create({ name: 'A scale', until })
      assert.deepEqual(client.until, until)
      assert.deepEqual((await actor.clients.get(client.clientId))?.until, until)
      const ask = () => tokens(service, byItself(client.clientId, secret))
      const [first, { expires_in: whole }] = await ask()
      assert.deepEqual([first, whole], [200, 3600])
      pass(hour + hour / 2)
      const [second, { expires_in: rest, access_token: token }] = await ask()
      assert.deepEqual([second, rest], [200, 1800])
      pass(hour / 2 - 1)
      assert.equal(await mcpStatus(service, token), 200)
      pass(1)
      assert.equal(await mcpStatus(service, token), 401)
      const [refused, { error }] = await ask()
      assert.deepEqual([refused, error], [401, 'invalid_client'])
    })

    it('is refused at the authorization, with a code and with a refresh token, and returns when its end moves', async () => {
      const { service, actor, begin, pass } = await open()
      // The owner consents twice with one sign-in, which is recent for five minutes.
      const lifetime = 4 * minute
      const wanted = { name: 'A', redirectUris: [redirectUri], until: new Date(begin + lifetime) }
      const { client, secret } = await actor.clients.create(wanted)
      const asClient = { client_id: client.clientId }
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const pkce = newPkce()
      const [, granted] = await tokens(service, {
        ...redemption(asClient, await codeFor(browser, asClient, pkce), pkce),
        client_secret: secret,
      })
      assert.equal(await mcpStatus(service, granted.access_token), 200)
      const refresh = () =>
        tokens(service, {
          grant_type: 'refresh_token',
          ...asClient,
          client_secret: secret,
          refresh_token: granted.refresh_token,
        })
      pass(lifetime - minute)
      const late = await codeFor(browser, asClient, pkce)
      pass(minute)
      assert.equal(await mcpStatus(service, granted.access_token), 401)
      const [redeemed] = await tokens(service, { ...redemption(asClient, late, pkce), client_secret: secret })
      const [refreshed, { error }] = await refresh()
      assert.deepEqual([redeemed, refreshed, error], [401, 401, 'invalid_client'])
      assert.equal((await new TestBrowser(service).get(authorizePath(asClient, pkce))).status, 400)
      assert.equal(await actor.clients.moveEnd(client.clientId, null), true)
      const [again, { access_token: renewed }] = await refresh()
      assert.equal(again, 200)
      assert.equal(await mcpStatus(service, renewed), 200)
    })

    it('ends for tokens that it has when its end moves, from the next request on', async () => {
      const { service, actor, begin, pass } = await open()
      const { client, secret } = await actor.clients.create({ name: 'A' })
      assert.equal(client.until, null)
      const [, { access_token: token }] = await tokens(service, byItself(client.clientId, secret))
      assert.equal(await actor.clients.moveEnd(client.clientId, new Date(begin + 1000)), true)
      assert.equal(await mcpStatus(service, token), 200)
      pass(1000)
      assert.equal(await mcpStatus(service, token), 401)
      assert.equal(await actor.clients.moveEnd(client.clientId, new Date(begin + hour)), true)
      assert.equal(await mcpStatus(service, token), 200)
    })

    it('does not outlive an earlier end of its approval', async () => {
      const { service, actor, begin } = await open()
      const { client, secret } = await actor.clients.create({ name: 'A', until: new Date(begin + hour) })
      const [trust] = await actor.trust.list()
      await actor.trust.approve(trust?.peerid ?? '', { until: new Date(begin + hour / 4) })
      const [status, { expires_in: seconds }] = await tokens(service, byItself(client.clientId, secret))
      assert.deepEqual([status, seconds], [200, 900])
    })

    it('ends earlier for an owner who moves the end of the approval on a page', async () => {
      const { service, owner, actor, begin, pass } = await open()
      const { client, secret } = await actor.clients.create({ name: 'A', until: new Date(begin + 2 * hour) })
      const [own] = await actor.trust.list()
      const browser = await OwnersBrowser.open(service, owner)
      const path = `/trust/${encodeURIComponent(own?.peerid ?? '')}`
      const page = await (await browser.get(path)).text()
      const [, version = ''] = /value="approve_until">.*?name="version" value="([^"]+)"/s.exec(page) ?? []
      const until = new Date(begin + hour + 60_000).toISOString().slice(0, 19)
      assert.equal((await browser.send(path, { action: 'approve_until', until, version })).status, 302)
      pass(hour)
      const [, { access_token: token }] = await tokens(service, byItself(client.clientId, secret))
      assert.equal(await mcpStatus(service, token), 200)
      pass(60_000)
      assert.equal(await mcpStatus(service, token), 401)
      assert.equal((await tokens(service, byItself(client.clientId, secret)))[0], 401)
    })

    it('moves only for a client of the actor', async () => {
      const { service, actor, begin } = await open()
      const { client } = await actor.clients.create({ name: 'A' })
      const other = (await service.app.actors.create()).actor
      const end = new Date(begin + hour)
      for (const id of [client.clientId, 'mcp_none', '', 'https://program.example/x'])
        assert.equal(await other.clients.moveEnd(id, end), false, id)
      assert.equal((await actor.clients.get(client.clientId))?.until, null)
    })

    it('is refused with an end that is not in the future', async () => {
      const { actor, begin } = await open()
      const { client } = await actor.clients.create({ name: 'A' })
      for (const [until, problem] of [
        [new Date(begin), `until must be in the future, not ${new Date(begin).toISOString()}`],
        [new Date(Number.NaN), 'until must be a valid Date'],
        ['2099-01-01', 'until must be a valid Date'],
      ] as const) {
        await assert.rejects(actor.clients.create({ name: 'B', until: until as Date }), {
          code: 'bad_request',
          message: `Cannot create a client: ${problem}`,
        })
        await assert.rejects(actor.clients.moveEnd(client.clientId, until as Date), {
          code: 'bad_request',
          message: `Cannot move the end of the client: ${problem}`,
        })
      }
      assert.deepEqual(
        (await actor.clients.list()).map(({ name, until }) => [name, until]),
        [['A', null]],
      )
    })

    it('is shown to each owner in the relationship and on the page of connected apps, and to no peer', async () => {
      const { service, owner, actor, begin, pass } = await open()
      const until = new Date(begin + hour)
      const wanted = { name: 'A scale', redirectUris: [redirectUri], until }
      const { client } = await actor.clients.create(wanted)
      const browser = new TestBrowser(service)
      const ada = actorIn(await signIn(browser, await provider(), 'ada'))
      await codeFor(browser, { client_id: client.clientId }, newPkce())
      const [own] = await actor.trust.list()
      const path = `/trust/mcp_client/${encodeURIComponent(own?.peerid ?? '')}`
      const shown = until.toISOString().replace('Z', '000+00:00')
      const ends = async (answer: Promise<Response>): Promise<unknown[]> => {
        const found = (await (await answer).json()) as object
        return [found].flat().map((each) => ('client_until' in each ? each.client_until : null))
      }
      assert.deepEqual(await ends(owner.request('GET', '/trust')), [shown])
      assert.deepEqual(await ends(owner.request('GET', '/trust/mcp_client')), [shown])
      assert.deepEqual(await ends(owner.request('GET', path)), [shown])
      assert.deepEqual(await ends(browser.get(`/${ada}/trust`)), [shown])
      const admin = await relateTo(service, owner, { relationship: 'admin' })
      assert.deepEqual(await ends(admin.request('GET', '/trust/mcp_client')), [null])
      const page = await OwnersBrowser.open(service, owner)
      assert.match(await (await page.get('/apps')).text(), /Its access ends on <time/)
      pass(hour)
      const later = await OwnersBrowser.open(service, owner)
      assert.match(await (await later.get('/apps')).text(), /Its access ended on <time/)
      await actor.clients.moveEnd(client.clientId, null)
      assert.deepEqual(await ends(owner.request('GET', '/trust/mcp_client')), [null])
      assert.doesNotMatch(await (await later.get('/apps')).text(), /Its access end/)
    })
  })
})
