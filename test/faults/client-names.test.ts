/* cspell:ignore roupe Τroupe */
/** The names by which owners recognize programs and peers, when those choose the names. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { updateTrust, findTrust } from '../../src/trust/trust-store.ts'
import type { App } from '../../src/troupe.ts'
import { authorizeClient, type TestClient } from '../support/mcp-client.ts'
import { codeFor, newPkce, redirectUri, register, registerClient } from '../support/oauth-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'
import { everythingStored } from '../support/stored.ts'

const declare = (app: App): void => {
  app.action('clear', { description: 'Removes every note', confirm: 'owner', mcp: true }, () => ({}))
  app.action('look', { description: 'Looks', mcp: true }, () => ({}))
}

const reserved = [
  'You',
  ' you ',
  'Уоu',
  'Y\u200bou',
  'Troupe',
  'Τroupe',
  'The owner',
  'Operator Ada',
  'Anonymous',
  'Sie',
]

const textOf = (page: string): string => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

function introduce(client: TestClient, name: string) {
  return client.legacy('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name, version: '1' },
  })
}

/** Renames the peer or program as its owner's service knows it. */
async function rename(service: TestService, actor: TestActor, peerId: string, facts: object): Promise<void> {
  const { store } = await service.app.running()
  await store.writeActor(actor.id, async (tx) => {
    const trust = await findTrust(tx, actor.id, peerId)
    if (trust !== null) await updateTrust(tx, { ...trust, facts: { ...trust.facts, ...facts } }, store.now())
  })
}

interface Line {
  readonly caller: string
  readonly caller_name: string
  readonly decision: string
}

forEachService((start) => {
  async function open() {
    const service = await start({ declare, activityPerActor: 1000 })
    const actor = await service.createActor()
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    const browser = await OwnersBrowser.open(service, actor)
    const page = async (path: string): Promise<string> => textOf(await (await browser.get(path)).text())
    const lines = async (): Promise<readonly Line[]> => {
      await writtenAuditLog(service)
      const { activity } = (await (await actor.request('GET', '/activity')).json()) as { activity: Line[] }
      return activity.filter(({ caller }) => caller !== 'owner')
    }
    const approval = async (): Promise<string> => {
      const { approvals } = (await (await actor.request('GET', '/approvals')).json()) as { approvals: { id: string }[] }
      return page(`/approvals/${approvals[0]?.id}`)
    }
    return { service, actor, client, page, lines, approval }
  }

  describe('a client that claims another name than that of its consent', () => {
    it('keeps the name of the consent on every page (OAZ-19)', async () => {
      const { client, actor, page, approval, lines } = await open()
      await client.modern('tools/call', { name: 'look' })
      await introduce(client, 'Claude')
      await client.modern('tools/call', { name: 'clear' })
      const waiting = await approval()
      assert.match(waiting, /A test client wants to: clear/)
      assert.match(waiting, /Now calls itself “Claude”\. You connected it under the name above\./)
      assert.match(await page('/apps'), /A test client .*Now calls itself “Claude”/)
      assert.match(await page(`/trust/${client.peerId}`), /Now calls itself Claude Not verified\./)
      const names = (await lines()).map(({ caller_name }) => caller_name)
      assert.deepEqual(new Set(names), new Set(['A test client']))
      for (const path of ['/activity', '/trust', '/requests']) {
        const shown = await page(path)
        assert.doesNotMatch(shown, /Claude/, path)
        assert.match(shown, /A test client/, path)
      }
      const { apps } = (await (await actor.request('GET', '/apps')).json()) as {
        apps: { name: string; claimed_name: string }[]
      }
      assert.deepEqual(
        apps.map((app) => [app.name, app.claimed_name]),
        [['A test client', 'Claude']],
      )
    })

    it('has no claimed name after it returns to its own (OAZ-19)', async () => {
      const { client, approval } = await open()
      await introduce(client, 'Claude')
      await introduce(client, 'A test client')
      await client.modern('tools/call', { name: 'clear' })
      assert.doesNotMatch(await approval(), /calls itself/)
    })

    for (const name of reserved)
      it(`cannot claim ${JSON.stringify(name)} (OAZ-19)`, async () => {
        const { client, page, approval, service } = await open()
        assert.equal((await introduce(client, name)).status, 200)
        await client.modern('tools/call', { name: 'clear' })
        assert.match(await approval(), /A test client wants to/)
        assert.doesNotMatch(`${await approval()} ${await page('/apps')}`, /calls itself/)
        assert.ok(!JSON.stringify(await everythingStored(service)).includes('client_claimed_name'))
      })
  })

  describe('a registration', () => {
    for (const name of reserved)
      it(`is refused with the name ${JSON.stringify(name)} (OAZ-19)`, async () => {
        const service = await start()
        const answer = await register(service, { client_name: name })
        assert.deepEqual(
          [answer.status, ((await answer.json()) as { error: string }).error],
          [400, 'invalid_client_metadata'],
        )
      })
  })

  describe('a peer', () => {
    it('keeps the name of each time in the activity when it changes its name (ACL-16)', async () => {
      const { service, actor, page, lines } = await open()
      const friend = await relateTo(service, actor, { facts: { peer_identifier: 'Grace' } })
      assert.equal((await friend.request('GET', '/properties')).status, 200)
      assert.equal((await lines()).length, 1)
      await rename(service, actor, friend.peerId, { peer_identifier: 'Your bank' })
      assert.equal((await friend.request('POST', '/actions/look', {})).status, 200)
      assert.deepEqual(
        (await lines()).map(({ caller_name }) => caller_name),
        ['Your bank', 'Grace'],
      )
      assert.match(await page('/activity'), /Your bank .*Grace /)
      assert.equal((await actor.request('DELETE', `/trust/friend/${friend.peerId}`)).status, 204)
      assert.match(await page('/activity'), /Your bank .*Grace /)
    })

    for (const name of [...reserved, 'Owner\u0000', 'Ada\u0000\ud800'])
      it(`leaves its entries in the activity under the name ${JSON.stringify(name)} (ACL-16)`, async () => {
        const { service, actor, page, lines } = await open()
        const friend = await relateTo(service, actor, { facts: { peer_identifier: name } })
        assert.equal((await friend.request('GET', '/properties')).status, 200)
        assert.deepEqual(
          (await lines()).map(({ caller }) => caller),
          [friend.peerId],
        )
        const shown = await page('/activity')
        if (name.startsWith('Ada')) assert.match(shown, /Ada/)
        else assert.ok(!shown.includes(`${name.trim()} viewed`), shown)
      })
  })
})

describe('the host of a client', () => {
  const provider = sharedProvider()

  forEachService((start) => {
    it('is the one that received the access, wherever else it may redirect (OAZ-19)', async () => {
      const service = await start(signInAt(await provider()))
      const browser = new TestBrowser(service)
      const id = actorIn(await signIn(browser, await provider(), 'ada'))
      const client = await registerClient(service, {
        redirect_uris: ['https://claude.ai/back', redirectUri],
        token_endpoint_auth_method: 'none',
      })
      await codeFor(browser, client, newPkce())
      const shown = textOf(await (await browser.get(`/${id}/www/apps`)).text())
      assert.match(shown, /A program .*program\.example/)
      assert.doesNotMatch(shown, /claude\.ai/)
    })
  })
})
