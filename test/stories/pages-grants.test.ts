import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ActorHandle, html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const begin = Date.UTC(2030, 0, 1)
const hour = 3_600_000

interface World {
  readonly actor: ActorHandle
  readonly browser: OwnersBrowser
  readonly peerId: string
  readonly path: string
  /** Opens the page of the peer, and returns its values. */
  readonly page: () => Promise<PageValues<'trustPeer'>>
  readonly set: (time: number) => void
}

forEachService((start) => {
  async function open(isBuiltIn = false): Promise<World> {
    let time = begin
    const pages: PageValues<'trustPeer'>[] = []
    const service = await start({
      freshSignInMinutes: 0,
      now: () => time,
      timers: new ManualClock().timers,
      ...(isBuiltIn ? {} : { pages: { trustPeer: (values) => (pages.unshift(values), html`peer`) } }),
    })
    const owner = await service.createActor()
    const { peerId } = await relateTo(service, owner, { relationship: 'viewer' })
    const actor = await service.app.actors.get(owner.id)
    assert.ok(actor !== undefined)
    const browser = await OwnersBrowser.open(service, owner)
    const path = `/trust/${peerId}`
    return {
      actor,
      browser,
      peerId,
      path,
      page: async () => {
        assert.equal((await browser.get(path)).status, 200)
        const [values] = pages
        assert.ok(values !== undefined)
        return values
      },
      set: (to) => {
        time = to
      },
    }
  }

  const photosUntil = (until: number) =>
    ({ properties: { patterns: ['photos'], operations: ['read', 'append'] }, until: new Date(until) }) as const

  describe('the page of a peer with grants', () => {
    it('shows each grant with its end, and says it in the rights', async () => {
      const { actor, peerId, page, set } = await open()
      await actor.trust.grant(peerId, photosUntil(begin + hour))
      const { grants, rights } = await page()
      assert.deepEqual(grants, [
        {
          category: 'properties',
          subject: 'Properties',
          pattern: 'photos',
          may: 'view and add to',
          ends: {
            at: '2030-01-01T01:00:00.000Z',
            words: 'in 1 hour',
            exact: '1 Jan 2030, 01:00:00 UTC',
          },
        },
      ])
      assert.ok(rights[0]?.sentences.includes('Can view and add to “photos” until 1 Jan 2030, 01:00:00 UTC.'))
      set(begin + hour)
      const after = await page()
      assert.deepEqual(after.grants, [])
      assert.ok(!JSON.stringify(after.rights).includes('photos'))
    })

    it('moves the end of a grant, removes the end, and withdraws the grant', async () => {
      const { actor, browser, peerId, path, page } = await open()
      await actor.trust.grant(peerId, photosUntil(begin + hour))
      const send = async (fields: Record<string, string>): Promise<number> => {
        const { rights_version: version } = await page()
        return (await browser.send(path, { category: 'properties', pattern: 'photos', version, ...fields })).status
      }
      const until = async (): Promise<Date | null> => (await actor.trust.may(peerId, 'read', 'photos')).until
      assert.equal(await send({ action: 'grant_until', until: '2030-01-01T02:00' }), 302)
      assert.deepEqual(await until(), new Date(begin + 2 * hour))
      assert.equal(await send({ action: 'grant_until', until: '' }), 302)
      assert.deepEqual([await until(), (await actor.trust.may(peerId, 'read', 'photos')).allowed], [null, true])
      assert.equal(await send({ action: 'withdraw_grant' }), 302)
      assert.equal((await actor.trust.may(peerId, 'read', 'photos')).allowed, false)
    })

    it('refuses a time in the past, an invalid time, an unknown grant, and a form from before another change', async () => {
      const { actor, browser, peerId, path, page } = await open()
      await actor.trust.grant(peerId, photosUntil(begin + hour))
      const { rights_version: version } = await page()
      const fields = { action: 'grant_until', category: 'properties', pattern: 'photos', version }
      const status = async (changed: object): Promise<number> =>
        (await browser.send(path, { ...fields, ...changed })).status
      assert.equal(await status({ until: '2029-12-31T23:59' }), 400)
      assert.equal(await status({ until: 'tomorrow' }), 400)
      assert.equal(await status({ category: 'propertys' }), 400)
      await actor.trust.grant(peerId, photosUntil(begin + 2 * hour))
      assert.equal(await status({ until: '2030-01-01T03:00' }), 409)
      assert.deepEqual((await actor.trust.may(peerId, 'read', 'photos')).until, new Date(begin + 2 * hour))
    })

    it('moves the end of the approval, and does not approve again', async () => {
      const { actor, browser, peerId, path, page, set } = await open()
      const send = async (until: string): Promise<number> => {
        const { version } = await page()
        return (await browser.send(path, { action: 'approve_until', until, version })).status
      }
      assert.equal(await send('2030-01-01T01:00:00'), 302)
      assert.equal((await page()).trust.approval_ends?.at, '2030-01-01T01:00:00.000Z')
      assert.equal(await send('2029-01-01T01:00:00'), 400)
      assert.equal(await send(''), 302)
      assert.equal((await page()).trust.approval_ends, null)
      assert.equal(await send('2030-01-01T01:00:00'), 302)
      set(begin + hour)
      assert.equal(await send('2030-01-01T02:00:00'), 409)
      assert.equal((await actor.trust.may(peerId, 'read', 'public/x')).allowed, false)
    })

    it('has the ends in the built-in page, with a form for each', async () => {
      const { actor, browser, peerId, path } = await open(true)
      await actor.trust.grant(peerId, photosUntil(begin + hour))
      await actor.trust.approve(peerId, { until: new Date(begin + 2 * hour) })
      const text = await (await browser.get(path)).text()
      assert.ok(text.includes('value="2030-01-01T01:00:00"'))
      assert.ok(text.includes('value="2030-01-01T02:00:00"'))
      assert.ok(text.includes('Remove'))
    })
  })

  describe('the page of connected apps', () => {
    it('shows when the approval of an app ends', async () => {
      const shown: PageValues<'apps'>[] = []
      const service = await start({
        now: () => begin,
        timers: new ManualClock().timers,
        pages: { apps: (values) => (shown.unshift(values), html`apps`) },
      })
      const owner = await service.createActor()
      const client = await authorizeClient(service, owner)
      const browser = await OwnersBrowser.open(service, owner)
      const ends = async (): Promise<unknown> => {
        assert.equal((await browser.get('/apps')).status, 200)
        return shown[0]?.groups[0]?.apps[0]?.approval_ends
      }
      assert.equal(await ends(), null)
      const actor = await service.app.actors.get(owner.id)
      await actor?.trust.approve(client.peerId, { until: new Date(begin + hour) })
      assert.deepEqual(await ends(), {
        at: '2030-01-01T01:00:00.000Z',
        words: 'in 1 hour',
        exact: '1 Jan 2030, 01:00:00 UTC',
      })
    })
  })
})
