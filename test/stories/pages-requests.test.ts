import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { relate } from '../support/friends.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

forEachService((start) => {
  interface World {
    readonly service: TestService
    readonly actor: TestActor
    readonly browser: OwnersBrowser
    /** The page of requests, without markup. */
    readonly inbox: (query?: string) => Promise<string>
    /** Sends a form from Firefox. */
    readonly send: (path: string, fields: Readonly<Record<string, string>>) => Promise<Response>
  }

  const declare: NonNullable<StartOptions['declare']> = (app) =>
    app
      .action(
        'clear_notes',
        {
          description: 'Removes every note',
          input: z.object({ reason: z.string().meta({ title: 'Why' }), force: z.boolean().optional() }),
          annotations: { destructiveHint: true },
          mcp: { title: 'Remove every note', confirm: 'owner' },
        },
        () => ({ removed: 1 }),
      )
      .action(
        'forget',
        {
          description: 'Forgets notes',
          input: z.object({ before: z.number() }),
          confirm: {
            owner: true,
            preview: async ({ actor, input }) => {
              if (input.before === 13) throw new Error('unlucky')
              if (input.before === 14) return ' '
              if (input.before === 15) return 'x'.repeat(2000)
              return `Forgets <b>${JSON.stringify(await actor.get('count'))}</b> notes before ${input.before}.`
            },
          },
          mcp: { title: 'Forget notes' },
        },
        () => ({}),
      )
      .action('ping', { description: 'Does nothing', mcp: { title: 'Ping', confirm: 'owner' } }, () => ({}))

  async function open(options: StartOptions = {}): Promise<World> {
    const service = await start({ listen: true, declare, activityPerActor: 1000, ...options })
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    return {
      service,
      actor,
      browser,
      inbox: async (query = '') => {
        const html = await (await browser.get(`/requests${query}`)).text()
        return html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
      },
      send: (path, fields) => browser.send(path, fields, { 'sec-fetch-site': 'same-origin', 'user-agent': firefox }),
    }
  }

  async function ask({ service, actor }: World, name: string, args: object): Promise<void> {
    const client = await authorizeClient(service, actor)
    await client.modern('tools/call', { name, arguments: args })
  }

  const idIn = (page: string): string => /www\/approvals\/([\w-]+)"/.exec(page)?.[1] ?? ''
  const idOf = async ({ browser }: World): Promise<string> => idIn(await (await browser.get('/requests')).text())

  describe('the inbox of the owner', () => {
    it('says that nothing waits, and has no count', async () => {
      const { browser } = await open()
      const page = await (await browser.get('/requests')).text()
      assert.match(page, /You’re all caught up\./)
      assert.match(page, /You haven’t decided anything yet\./)
      assert.doesNotMatch(page, /class="count"/)
      assert.match(page, /<title>Requests ·/)
    })

    it('shows requests to connect and calls together, with their number in the navigation and the title', async () => {
      const world = await open()
      const peer = await world.service.createActor('peer@example.com')
      await relate(peer, [world.service, world.actor], 'friend', false)
      await ask(world, 'clear_notes', { reason: 'spring' })
      const page = await (await world.browser.get('/requests')).text()
      assert.match(page, /<title>\(2\) Requests ·/)
      assert.match(page, /aria-current="page">.*Requests <span class="count" aria-hidden="true">2<\/span>/)
      assert.match(
        await world.inbox(),
        /A test client wants to: Remove every note Destructive Requested just now · expires in 14 minutes/,
      )
      assert.match(await world.inbox(), /wants to connect as Friend/)
      assert.match(page, new RegExp(`href="/${world.actor.id}/www/trust/${peer.id}"`))
    })

    it('lists decisions about calls and connections with the device, the latest first', async () => {
      const world = await open()
      const [friend, other] = [
        await world.service.createActor('friend@example.com'),
        await world.service.createActor('other@example.com'),
      ]
      await ask(world, 'clear_notes', { reason: 'spring' })
      assert.equal((await world.send(`/approvals/${await idOf(world)}`, { decision: 'allow' })).status, 302)
      await ask(world, 'clear_notes', { reason: 'summer' })
      assert.equal((await world.send(`/approvals/${await idOf(world)}`, { decision: 'refuse' })).status, 302)
      await relate(friend, [world.service, world.actor], 'friend', false)
      assert.equal((await world.send(`/trust/${friend.id}`, { action: 'approve' })).status, 302)
      await relate(other, [world.service, world.actor], 'friend', false)
      assert.equal((await world.send(`/trust/${other.id}`, { action: 'end' })).status, 302)
      const decided = async (): Promise<[string, string, string][]> => {
        const { activity } = (await (await world.actor.request('GET', '/activity')).json()) as {
          activity: { decision: string; path: string; device: string }[]
        }
        return activity
          .filter(({ decision }) => ['approved', 'denied'].includes(decision))
          .map(({ decision, path, device }) => [decision, path, device])
      }
      await until(async () => (await decided()).length === 4)
      assert.deepEqual(
        new Set(await decided()),
        new Set([
          ['denied', '/trust/friend', 'Firefox on Linux'],
          ['approved', '/trust/friend', 'Firefox on Linux'],
          ['denied', 'clear_notes', 'Firefox on Linux'],
          ['approved', 'clear_notes', 'Firefox on Linux'],
        ]),
      )
      const page = await world.inbox()
      assert.match(page, /A test client [^.]* Approved just now · Firefox on Linux/)
      assert.match(page, /got your approval to connect Approved just now · Firefox on Linux/)
      assert.match(page, /didn’t get your approval to connect Denied just now · Firefox on Linux/)
    })

    it('records a decision of a program with the passphrase, and none of the application or of a peer', async () => {
      const world = await open()
      const friend = await world.service.createActor('friend@example.com')
      await relate(friend, [world.service, world.actor])
      const other = await world.service.createActor('other@example.com')
      await relate(other, [world.service, world.actor], 'friend', false)
      await (await world.service.app.actors.get(world.actor.id))?.trust.approve(other.id)
      await until(async () => /Approved/.test(await world.inbox()))
      assert.equal((await world.inbox()).match(/Approved/g)?.length, 1)
    })

    it('has pages of older decisions', async () => {
      const world = await open()
      const { auditLog } = (await world.service.app.running()).parts
      for (let at = 0; at < 27; at++)
        auditLog.record({
          actorId: world.actor.id,
          callerKind: 'peer',
          caller: `peer-${at}`,
          through: 'http',
          method: 'POST',
          path: '/trust/friend',
          decision: at % 2 === 0 ? 'approved' : 'denied',
          reason: 'the owner approved it',
          status: 200,
          requestId: '',
          device: '',
        })
      await auditLog.flush()
      const first = await (await world.browser.get('/requests')).text()
      assert.equal(first.match(/class="said"/g)?.length, 25)
      const [, older = ''] = /href="[^"]*\/requests(\?cursor=[^"]+)" rel="next"/.exec(first) ?? []
      const second = await (await world.browser.get(`/requests${older}`)).text()
      assert.equal(second.match(/class="said"/g)?.length, 2)
      assert.match(second, /rel="first"/)
      assert.equal((await world.browser.get('/requests?cursor=nonsense')).status, 400)
    })

    it('says that decisions are not kept when the activity is off', async () => {
      const { inbox } = await open({ activityPerActor: 0 })
      assert.match(await inbox(), /Activity is turned off for this service, so decisions aren’t kept\./)
    })
  })

  describe('the page of a call', () => {
    it('names the client as unverified, the destructive effect and the arguments, and offers the denial first', async () => {
      const world = await open()
      await ask(world, 'clear_notes', { reason: '<b>spring</b>', force: true })
      const page = await (await world.browser.get(`/approvals/${await idOf(world)}`)).text()
      assert.match(page, /An app\. Its name isn’t verified\. <span class="badge bad">Destructive<\/span>/)
      assert.match(page, /<th scope="row">Why <span class="key">reason<\/span><\/th>/)
      assert.match(page, /&lt;b&gt;spring&lt;\/b&gt;/)
      assert.match(page, /<th scope="row"><span class="key">force<\/span><\/th>/)
      assert.ok(page.indexOf('value="refuse"') < page.indexOf('value="allow"'))
      assert.match(page, /aria-label="Breadcrumb"><ol><li><a href="[^"]*\/requests">Requests<\/a>/)
    })

    it('says that a call has no input, and offers the approval first when nothing is destroyed', async () => {
      const world = await open()
      await ask(world, 'ping', {})
      const page = await (await world.browser.get(`/approvals/${await idOf(world)}`)).text()
      assert.match(page, /No input/)
      assert.doesNotMatch(page, /Destructive/)
      assert.ok(page.indexOf('value="allow"') < page.indexOf('value="refuse"'))
    })

    it('shows the preview of the application as text, while the call waits', async () => {
      const world = await open()
      await world.actor.request('PUT', '/properties/count', 3)
      await ask(world, 'forget', { before: 2020 })
      const id = await idOf(world)
      const page = await (await world.browser.get(`/approvals/${id}`)).text()
      assert.ok(page.includes('<p class="answer">Forgets &lt;b&gt;3&lt;/b&gt; notes before 2020.</p>'), page)
      const read = async (): Promise<{ readonly preview?: string }> =>
        (await (await world.actor.request('GET', `/approvals/${id}`)).json()) as { preview?: string }
      assert.equal((await read()).preview, 'Forgets <b>3</b> notes before 2020.')
      const listed = (await (await world.actor.request('GET', '/approvals')).json()) as { approvals: object[] }
      assert.deepEqual(
        listed.approvals.map((approval) => 'preview' in approval),
        [false],
      )
      assert.equal((await world.send(`/approvals/${id}`, { decision: 'allow' })).status, 302)
      assert.equal((await read()).preview, undefined)
      assert.doesNotMatch(await (await world.browser.get(`/approvals/${id}`)).text(), /notes before 2020/)
    })

    for (const [what, before] of [
      ['throws', 13],
      ['is empty', 14],
    ] as const) {
      it(`offers the decision when the preview ${what}`, async () => {
        const world = await open()
        await ask(world, 'forget', { before })
        const id = await idOf(world)
        const page = await (await world.browser.get(`/approvals/${id}`)).text()
        assert.match(page, /The effect of this call can’t be shown right now\./)
        assert.ok(world.service.log.some((line) => line.includes('Cannot preview a call for its owner')))
        assert.equal((await world.send(`/approvals/${id}`, { decision: 'allow' })).status, 302)
      })
    }

    it('shows the beginning of a long preview', async () => {
      const world = await open()
      await ask(world, 'forget', { before: 15 })
      const page = await (await world.browser.get(`/approvals/${await idOf(world)}`)).text()
      assert.ok(page.includes(`>${'x'.repeat(1000)}…<`))
    })

    it('does not wait for a preview that takes longer than 2 seconds', async () => {
      const clock = new ManualClock()
      let isAsked = false
      const world = await open({
        now: clock.now,
        timers: clock.timers,
        declare: (app) =>
          app.action(
            'forget',
            {
              confirm: {
                owner: true,
                preview: () => {
                  isAsked = true
                  return new Promise<string>(() => {})
                },
              },
              mcp: true,
            },
            () => ({}),
          ),
      })
      await ask(world, 'forget', {})
      const id = await idOf(world)
      const page = world.browser.get(`/approvals/${id}`)
      await until(async () => isAsked)
      clock.pass(2000)
      assert.match(await (await page).text(), /The effect of this call can’t be shown right now\./)
    })
  })
})
