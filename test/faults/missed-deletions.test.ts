/** Names that a peer is shown no longer: its copy loses them also when no diff could delete them at that time. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber, sorted } from '../support/python-subscriptions.ts'
import { seeded } from '../support/random.ts'
import { forEachService } from '../support/service.ts'

forEachService((start) => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  const names = ['mood', 'diary', 'plan', 'list-a', 'list-b'] as const
  /** No rule lets the peer read it. */
  const secret = 'vault'

  async function world() {
    const clock = new ManualClock()
    const python = await PythonPeer.start({ autoAccept: 'friend' })
    closers.push(() => python.close())
    const service = await start({ listen: true, now: clock.now, timers: clock.timers, maxDiffs: 32 })
    const actor = await service.createActor()
    assert.equal((await actor.request('POST', '/trust', { url: python.url, relationship: 'friend' })).status, 201)
    const handle = await service.app.actors.get(actor.id)
    assert.ok(handle !== undefined)
    const trust = `/trust/friend/${python.id}`
    const exclude = async (...excluded: readonly string[]): Promise<void> => {
      const properties = { excluded_patterns: [secret, ...excluded] }
      assert.ok((await actor.request('PUT', `${trust}/permissions`, { properties })).ok)
    }
    await exclude()
    const put = async (name: string, value: unknown): Promise<void> => {
      if (name.startsWith('list-')) await handle.list(name).append(value as string)
      else assert.equal((await actor.request('PUT', `/properties/${name}`, value)).status, 204)
    }
    const remove = async (name: string): Promise<void> => {
      assert.ok([204, 404].includes((await actor.request('DELETE', `/properties/${name}`)).status))
    }
    const bulk = async (written: Record<string, unknown>): Promise<void> => {
      assert.equal((await actor.request('POST', '/properties', written)).status, 201)
    }
    for (const name of names) await put(name, 'first')
    const subscriber = new PythonSubscriber(python)
    const ingress = { status: 0 }
    python.route('POST', /^\/callbacks\/subscriptions\//, () => (ingress.status > 0 ? ingress : undefined))
    await subscriber.subscribe(actor.id)
    const read = async (path: string): Promise<unknown> => {
      const answer = await fetch(`${service.url}/${actor.id}/properties${path}`, {
        headers: { authorization: `Bearer ${python.trusts.get(actor.id)?.secret}` },
      })
      return answer.json()
    }
    const shown = async (): Promise<object> => {
      const listing = Object.entries((await read('')) as Record<string, unknown>)
      const full = listing.map(async ([name, value]) =>
        name.startsWith('list-') ? ([name, await read(`/${name}`)] as const) : ([name, value] as const),
      )
      return sorted(Object.fromEntries(await Promise.all(full)))
    }
    const isEqual = async (): Promise<boolean> =>
      JSON.stringify(sorted(Object.fromEntries(subscriber.copy))) === JSON.stringify(await shown())
    const sent = (): string => python.requests.map(({ path, body }) => `${path} ${body}`).join('\n')
    const approve = async (change: object): Promise<void> => {
      assert.equal((await actor.request('PUT', trust, change)).status, 204)
    }
    return { clock, service, actor, handle, python, ingress, exclude, put, remove, bulk, approve, isEqual, sent }
  }
  type World = Awaited<ReturnType<typeof world>>

  interface Pause {
    readonly begin: (world: World) => Promise<unknown>
    readonly end: (world: World) => Promise<unknown>
    /** True: the peer may read nothing meanwhile. */
    readonly hides?: true
  }
  const hourMs = 3_600_000
  const suspended = (name?: string): Pause => ({
    begin: ({ handle }) => handle.subscriptions.suspend('properties', name),
    end: ({ handle }) => handle.subscriptions.resume('properties', name),
  })
  const unapproved: Pause = {
    begin: ({ approve }) => approve({ approved: false }),
    end: ({ approve }) => approve({ approved: true }),
    hides: true,
  }
  const expired: Pause = {
    begin: async ({ approve, clock, service }) => {
      await approve({ approved: true, approved_until: new Date(clock.now() + hourMs).toISOString() })
      clock.pass(hourMs)
      await service.settled()
    },
    end: unapproved.end,
    hides: true,
  }
  const inOrder = (...pauses: readonly Pause[]): Pause => ({
    begin: async (made) => {
      for (const pause of pauses) await pause.begin(made)
    },
    end: async (made) => {
      for (const pause of pauses) await pause.end(made)
    },
  })
  const pauses: readonly (readonly [what: string, pause: Pause])[] = [
    ['all properties are suspended', suspended()],
    ['two properties are suspended', inOrder(suspended('diary'), suspended('list-a'))],
    ['the relationship is not approved', unapproved],
    ['the approval has ended', expired],
    ['properties are suspended and the relationship is not approved', inOrder(suspended(), unapproved)],
    ['the relationship is not approved and properties are suspended', inOrder(unapproved, suspended())],
  ]

  describe('the copy of a Python peer', () => {
    for (const [what, pause] of pauses)
      it(`equals what the peer is shown after any changes while ${what} (SUB-30)`, async () => {
        const made = await world()
        const { clock, service, exclude, put, remove, bulk, isEqual, sent } = made
        const random = seeded(what.length)
        await put(secret, 'hidden')
        for (let round = 0; round < 4; round += 1) {
          await passUntil(clock, [service], isEqual, 1000)
          await pause.begin(made)
          await put(`new-in-round-${round}`, 'now')
          for (let change = 0; change < 5; change += 1) {
            const name = random.pick(names)
            const kind = random.below(4)
            if (kind === 0) await exclude(...names.filter(() => random.below(2) === 0))
            else if (kind === 1) await remove(name)
            else if (kind === 2) await put(name, `value ${change}`)
            else await bulk({ mood: '', plan: `plan ${round}` })
          }
          await remove(`new-in-round-${round}`)
          await remove(secret)
          await put(secret, `hidden ${round}`)
          await pause.end(made)
        }
        await passUntil(clock, [service], isEqual, 1000)
        const hidden = [secret, ...(pause.hides === true ? [0, 1, 2, 3].map((round) => `new-in-round-${round}`) : [])]
        assert.deepEqual(
          hidden.filter((name) => sent().includes(`"${name}":`)),
          [],
        )
      })

    for (const status of [404, 503])
      for (const bytes of [1000, 20_000, 70_000])
        it(`equals what the peer is shown when its ingress answered ${status} to a change of ${bytes} bytes that deletes (SUB-30)`, async () => {
          const { clock, service, ingress, bulk, remove, put, isEqual } = await world()
          ingress.status = status
          await bulk({ mood: '', plan: 'x'.repeat(bytes), diary: '' })
          await remove('list-a')
          await put('mood', '')
          await service.settled()
          ingress.status = 0
          await passUntil(clock, [service], isEqual, 1000)
        })

    for (const status of [400, 404])
      it(`equals what the peer is shown when its ingress answered ${status} to one change and deletions behind it arrived (SUB-38)`, async () => {
        const { clock, service, ingress, put, remove, isEqual } = await world()
        ingress.status = status
        await put('plan', 'changed')
        await service.settled()
        ingress.status = 0
        for (const name of ['list-a', 'diary']) await remove(name)
        await service.settled()
        await passUntil(clock, [service], isEqual, 1000)
      })

    for (const [what, pause] of [
      ['a suspension', suspended()],
      ['a time without approval', unapproved],
    ] as const)
      it(`equals what the peer is shown when ${what} ends before the repair of deletions that failed (SUB-30)`, async () => {
        const made = await world()
        const { clock, service, ingress, remove, isEqual, sent } = made
        ingress.status = 400
        for (const name of ['diary', 'list-a']) await remove(name)
        await service.settled()
        await pause.begin(made)
        ingress.status = 0
        await pause.end(made)
        await service.settled()
        assert.match(sent(), /"type":"resync"/)
        await passUntil(clock, [service], isEqual, 1000)
      })

    it('equals what the peer is shown when more changes failed than are stored (SUB-30)', async () => {
      const { clock, service, ingress, put, remove, isEqual } = await world()
      ingress.status = 503
      for (const name of ['diary', 'list-b']) await remove(name)
      for (let change = 0; change < 40; change += 1) await put('mood', change)
      await put('diary', 'again')
      await service.settled()
      ingress.status = 0
      await passUntil(clock, [service], isEqual, 1000)
    })
  })
})
