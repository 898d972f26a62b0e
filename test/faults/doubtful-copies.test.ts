import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { redriveAll } from '../../src/operator/redrive.ts'
import { copyOf, related } from '../support/interrupted-moves.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { movingWorld, takeAt } from '../support/moving.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber } from '../support/python-subscriptions.ts'
import { RecordingPeer, type Reply, relateTo } from '../support/recording-peer.ts'
import type { TroupeOptions } from '../../src/troupe.ts'
import { findTrust, updateTrust } from '../../src/trust/trust-store.ts'
import { forEachService } from '../support/service.ts'
import { untilEqual } from '../support/until.ts'

const minuteMs = 60_000
const hourMs = 3_600_000

forEachService((start) => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  async function world(replies: Reply[], granularity = 'high') {
    const clock = new ManualClock()
    const service = await start({ now: clock.now, timers: clock.timers, random: () => 1 })
    const actor = await service.createActor()
    const remote = await new RecordingPeer().start()
    closers.push(() => remote.stop())
    remote.now = clock.now
    remote.replies = replies
    const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
    const id = await peer.subscribe({ granularity })
    const begun = clock.now()
    return {
      service,
      clock,
      actor,
      remote,
      peer,
      id,
      put: async (value: unknown) => {
        assert.equal((await actor.request('PUT', '/properties/mood', value)).status, 204)
      },
      /** Each callback: its minute, its type, and its sequence number. */
      callbacks: () =>
        remote.received
          .filter(({ path }) => path.includes('/callbacks/subscriptions/'))
          .map(({ at, body }) => [Math.round((at - begun) / minuteMs), body?.['type'] ?? 'diff', body?.['sequence']]),
      state: async () => {
        const answer = await actor.request('GET', `/subscriptions/${peer.peerId}/${id}?timeline=true`)
        const shown = (await answer.json()) as {
          state: string
          failing_since: string | null
          data: { sequence: number; outcome: string }[]
        }
        const { state, data, failing_since: since } = shown
        const outcomes = Object.fromEntries(data.map(({ sequence, outcome }) => [sequence, outcome]))
        return { state, outcomes, isFailing: since !== null }
      },
      until: (holds: () => boolean | Promise<boolean>, stepMs: number) => passUntil(clock, [service], holds, stepMs),
    }
  }

  type World = Awaited<ReturnType<typeof world>>

  async function redriveByOwner({ actor, peer, id }: World): Promise<void> {
    assert.ok((await actor.request('POST', `/subscriptions/${peer.peerId}/${id}/redrive`)).ok)
  }

  async function redriveByOperator({ actor, service, clock }: World): Promise<void> {
    const { store } = await service.app.running()
    await store.write((tx) => redriveAll(tx, { actorId: actor.id }, clock.now()))
  }

  describe('a callback that failed finally', () => {
    // An ingress during a deploy, a proxy that redirects to its error page, an application that refuses.
    const ends: readonly [what: string, replies: Reply[], calls: number][] = [
      ['404', [404], 1],
      ['302', [{ status: 302, headers: { location: '/maintenance' } }], 1],
      ['400', [400], 1],
      ['403', [403], 1],
      ['409', [409], 1],
      ['413', [413], 1],
      ['502, twice', [502, 502], 2],
      ['500, twice', [500, 500], 2],
      ['a closed connection, twice', ['cut', 'cut'], 2],
    ]
    for (const [what, replies, calls] of ends) {
      it(`with ${what} leaves a doubt that one resync ends within two minutes (SUB-18)`, async () => {
        const { put, remote, state, until, callbacks, clock, service } = await world([...replies, 204])
        await put('sunny')
        await until(() => remote.received.length === calls, 1000)
        await until(async () => (await state()).outcomes[1] === 'failed', 100)
        assert.deepEqual(await state(), { state: 'live', outcomes: { 1: 'failed' }, isFailing: true })
        await until(() => remote.received.length > calls, 10_000)
        assert.deepEqual(callbacks().at(-1), [1, 'resync', 2])
        assert.equal(typeof remote.received.at(-1)?.body?.['url'], 'string')
        await until(async () => !(await state()).isFailing, 100)
        assert.deepEqual(await state(), {
          state: 'live',
          outcomes: { 1: 'superseded', 2: 'delivered' },
          isFailing: false,
        })
        const sent = remote.received.length
        for (let hour = 0; hour < 48; hour += 12) {
          clock.pass(12 * hourMs)
          await service.settled()
        }
        assert.equal(remote.received.length, sent)
      })
    }

    it('does not delay the changes after it, which leave the doubt (SUB-18)', async () => {
      const { put, remote, state, until, callbacks } = await world([404, 204])
      await put('sunny')
      await until(async () => (await state()).outcomes[1] === 'failed', 100)
      await put('rainy')
      await until(async () => (await state()).outcomes[2] === 'delivered', 100)
      assert.deepEqual(callbacks().at(-1), [0, 'diff', 2])
      assert.deepEqual(await state(), {
        state: 'live',
        outcomes: { 1: 'failed', 2: 'delivered' },
        isFailing: true,
      })
      await until(() => remote.received.length === 3, 1000)
      assert.deepEqual(callbacks().at(-1), [1, 'resync', 3])
    })

    it('is followed by resyncs that become rarer, once a day at last, and never end (SUB-18)', async () => {
      const { put, remote, until, callbacks, state } = await world([404])
      await put('sunny')
      await until(() => remote.received.length === 9, 5 * minuteMs)
      await until(() => remote.received.length === 15, 60 * minuteMs)
      const times = callbacks().map(([minute]) => Number(minute))
      const pauses = times.slice(1).map((minute, index) => minute - (times[index] ?? 0))
      for (const [index, least] of [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440].entries()) {
        const pause = pauses[index] ?? 0
        // The clock passes in steps of up to an hour.
        assert.ok(pause >= least - 1 && pause <= least + 71, `pause ${index} is ${pause} minutes`)
      }
      assert.equal((await state()).isFailing, true)
      remote.replies = [204]
      await until(async () => !(await state()).isFailing, hourMs)
    })

    it('of a peer that answered 410 is repaired after an hour, not only by a person (SUB-18)', async () => {
      const { put, remote, state, until, callbacks } = await world([410, 204])
      await put('sunny')
      await until(async () => (await state()).state === 'stopped', 100)
      await put('rainy')
      await until(() => remote.received.length > 1, minuteMs)
      assert.equal(Number(callbacks()[1]?.[0]) >= 60, true)
      await until(async () => !(await state()).isFailing, minuteMs)
      assert.deepEqual((await state()).state, 'live')
      assert.deepEqual(callbacks().at(-1)?.[1], 'resync')
    })

    for (const [who, redriven] of [
      ['the owner', (world: World) => redriveByOwner(world)],
      ['an operator', (world: World) => redriveByOperator(world)],
    ] as const) {
      for (const reply of [404, 410] as const) {
        it(`with ${reply} is repaired at once when ${who} retries it (SUB-19)`, async () => {
          const made = await world([reply, 204])
          const { put, remote, state, until, callbacks } = made
          await put('sunny')
          await until(async () => (await state()).outcomes[1] === 'failed', 100)
          await redriven(made)
          await until(() => remote.received.some(({ body }) => body?.['type'] === 'resync'), 100)
          assert.deepEqual(callbacks(), [
            [0, 'diff', 1],
            [0, 'diff', 1],
            [0, 'resync', 2],
          ])
          await until(async () => !(await state()).isFailing, 100)
          assert.equal((await state()).state, 'live')
        })
      }
    }

    it('is repaired at once by a retry when its diff is no longer stored (SUB-19)', async () => {
      const made = await world([404, 204])
      const { put, remote, state, until, callbacks, actor, service } = made
      await put('sunny')
      await until(async () => (await state()).outcomes[1] === 'failed', 100)
      const { store } = await service.app.running()
      await store.write((tx) => tx.run('DELETE FROM diff WHERE actor_id = $1', actor.id))
      await redriveByOwner(made)
      await until(() => remote.received.length === 2, 100)
      assert.deepEqual(callbacks().at(-1), [0, 'resync', 2])
    })

    it('is not repaired earlier by a retry for another subscription (SUB-19)', async () => {
      const made = await world([404, 204])
      const { put, remote, state, until, peer, actor, clock, service } = made
      await put('sunny')
      await until(async () => (await state()).outcomes[1] === 'failed', 100)
      const other = await peer.subscribe({ granularity: 'high' })
      assert.ok((await actor.request('POST', `/subscriptions/${peer.peerId}/${other}/redrive`)).ok)
      clock.pass(1000)
      await service.settled()
      assert.equal(remote.received.length, 1)
    })

    it('is not repaired while the owner has withdrawn the approval, and at once when it is renewed (SUB-18)', async () => {
      const { put, remote, state, until, actor, peer, callbacks, clock, service } = await world([404, 204])
      await put('sunny')
      await until(async () => (await state()).outcomes[1] === 'failed', 100)
      const path = `/trust/friend/${peer.peerId}`
      assert.equal((await actor.request('PUT', path, { approved: false })).status, 204)
      for (let minute = 0; minute < 90; minute += 10) {
        clock.pass(10 * minuteMs)
        await service.settled()
      }
      assert.equal(callbacks().length, 1)
      assert.equal((await actor.request('PUT', path, { approved: true })).status, 204)
      await until(() => remote.received.some(({ body }) => body?.['type'] === 'resync'), 100)
      await until(async () => !(await state()).isFailing, 100)
    })
  })

  describe('a peer that has not approved the renewed relationship', () => {
    const withdraw = async ({ service, actor, peer, clock }: World): Promise<void> => {
      const { store } = await service.app.running()
      await store.writeActor(actor.id, async (tx) => {
        const trust = await findTrust(tx, actor.id, peer.peerId)
        assert.ok(trust !== null)
        const facts = {
          aw_supported: 'subscriptionresync',
          capabilities_fetched_at: new Date(clock.now()).toISOString(),
        }
        await updateTrust(tx, { ...trust, facts, peerApproved: false }, clock.now())
      })
    }
    const approve = async ({ peer }: World): Promise<void> => {
      assert.equal((await peer.request('POST', `/trust/friend/${peer.peerId}`, { approved: true })).status, 204)
    }

    for (const held of [0, 1, 3]) {
      it(`gets none of ${held} changes after it refused one, and one resync when it approves (SUB-23)`, async () => {
        const made = await world([403])
        const { put, remote, state, until, callbacks, service } = made
        await withdraw(made)
        await put('sunny')
        await until(async () => (await state()).outcomes[1] === 'failed', 100)
        for (let n = 1; n <= held; n += 1) await put(`rainy ${n}`)
        await service.settled()
        assert.deepEqual(callbacks(), [[0, 'diff', 1]])
        remote.replies = [204]
        await approve(made)
        await until(async () => !(await state()).isFailing, 100)
        await put('clear')
        await until(async () => (await state()).outcomes[held + 3] === 'delivered', 100)
        assert.deepEqual(callbacks(), [
          [0, 'diff', 1],
          [0, 'resync', held + 2],
          [0, 'diff', held + 3],
        ])
        const { outcomes } = await state()
        assert.deepEqual(Object.values(outcomes), [
          ...Array.from({ length: held + 1 }, () => 'superseded'),
          'delivered',
          'delivered',
        ])
      })
    }

    it('gets the resync at once when it approves while it still refuses the one before (SUB-23)', async () => {
      const { promise: refusal, resolve: refuse } = Promise.withResolvers<number>()
      const made = await world([403, refusal])
      const { put, remote, state, until, callbacks, clock, service } = made
      await withdraw(made)
      await put('sunny')
      await until(async () => (await state()).outcomes[1] === 'failed', 100)
      await put('rainy')
      await service.settled()
      clock.pass(minuteMs)
      await untilEqual(
        () => callbacks().length,
        () => 2,
      )
      remote.replies = [204]
      await approve(made)
      refuse(403)
      await until(async () => !(await state()).isFailing, 100)
      assert.deepEqual(callbacks(), [
        [0, 'diff', 1],
        [1, 'resync', 3],
        [1, 'resync', 4],
      ])
    })

    it('gets resyncs that become rarer while it does not approve, and no change (SUB-23)', async () => {
      const made = await world([403])
      const { put, clock, service, callbacks } = made
      await withdraw(made)
      for (let hour = 0; hour < 72; hour += 1) {
        await put(hour)
        await service.settled()
        clock.pass(hourMs)
        await service.settled()
      }
      const kinds = Map.groupBy(callbacks(), ([, type]) => type)
      assert.equal(kinds.get('diff')?.length, 1)
      const resyncs = kinds.get('resync')?.length ?? 0
      assert.ok(resyncs >= 5 && resyncs <= 16, `${resyncs} resyncs`)
    })

    it('gets every change while it accepts them, because the message about its approval may be lost (SUB-23)', async () => {
      const made = await world([204])
      const { put, until, callbacks } = made
      await withdraw(made)
      for (const mood of ['sunny', 'rainy', 'windy']) await put(mood)
      await until(() => callbacks().length === 3, 100)
      assert.deepEqual(callbacks(), [
        [0, 'diff', 1],
        [0, 'diff', 2],
        [0, 'diff', 3],
      ])
    })
  })

  describe('the diffs of a poll', () => {
    const cases: readonly [what: string, first: Reply[], granularity: string, changes: number, numbers: number[]][] = [
      ['after number 1 when its callback was accepted', [204], 'high', 3, [2, 3]],
      ['after number 1 when it has a reference that was accepted', [204], 'low', 3, [2, 3]],
      ['after number 1 when its outcome is unknown', ['cut', 'cut', 204], 'high', 3, [2, 3]],
      ['with number 1 when it was refused', [400, 204], 'high', 3, [1, 2, 3]],
      ['with number 1 when it is the last one', [204], 'high', 1, [1]],
      ['with number 1 when nothing is sent', [204], 'none', 3, [1, 2, 3]],
    ]
    for (const [what, replies, granularity, changes, numbers] of cases) {
      it(`begin ${what} (SUB-22)`, async () => {
        const { peer, id, put, state, until } = await world(replies, granularity)
        for (let n = 1; n <= changes; n += 1) await put(n)
        const isOver = async () => Object.values((await state()).outcomes).every((outcome) => outcome !== 'waiting')
        await until(isOver, 100)
        const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        const { data, sequence } = (await answer.json()) as { data: { sequence: number }[]; sequence: number }
        assert.deepEqual([data.map((diff) => diff.sequence), sequence], [numbers, changes])
      })
    }

    it('begin after number 1 while later callbacks of a long row wait (SUB-22)', async () => {
      const { promise: later, resolve } = Promise.withResolvers<number>()
      const { peer, id, put, remote } = await world([204, 204, 204, 204, 204, later])
      for (let n = 1; n <= 7; n += 1) await put(n)
      await remote.has(6)
      const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
      const { data } = (await answer.json()) as { data: { sequence: number }[] }
      assert.equal(data[0]?.sequence, 2)
      resolve(204)
    })

    // A write, a deletion, a resync, or the number of a diff that the peer reads alone.
    type Step = 'put' | 'delete' | 'resync' | number
    const holes: readonly [granularity: string, steps: readonly Step[], numbers: number[], last: number][] = [
      ['high', ['put', 'resync', 'put', 'put'], [3, 4], 4],
      ['high', ['put', 'put', 'resync'], [], 3],
      ['high', ['resync', 'put'], [2], 2],
      ['high', ['put', 'resync', 'put', 'resync', 'put'], [5], 5],
      ['high', ['put', 'delete', 'resync', 'put'], [4], 4],
      ['high', ['put', 'resync', 'delete', 'put'], [3, 4], 4],
      ['low', ['put', 'put', 'put', 2], [3], 3],
      ['low', ['put', 'put', 2], [], 2],
      ['low', ['put', 'put', 'put', 1], [2, 3], 3],
      ['low', ['put', 'resync', 'put', 'put', 3], [4], 4],
      ['none', ['put', 'put', 'put', 2], [1, 3], 3],
    ]
    for (const [granularity, steps, numbers, last] of holes) {
      it(`begin behind what the answer lacks after ${steps.join(', ')}, ${granularity} (SUB-34)`, async () => {
        const { actor, peer, id, put, service } = await world([400], granularity)
        const handle = await service.app.actors.get(actor.id)
        assert.ok(handle !== undefined)
        const path = `/subscriptions/${peer.peerId}/${id}`
        for (const step of steps) {
          if (step === 'put') await put(Math.random())
          else if (step === 'delete') assert.equal((await actor.request('DELETE', '/properties/mood')).status, 204)
          else if (step === 'resync') {
            await handle.subscriptions.suspend('properties')
            await handle.subscriptions.resume('properties')
          } else assert.equal((await peer.request('GET', `${path}/${step}`)).status, 200)
        }
        const { data, sequence } = (await (await peer.request('GET', path)).json()) as {
          data: { sequence: number }[]
          sequence: number
        }
        assert.deepEqual([data.map((diff) => diff.sequence), sequence], [numbers, last])
      })
    }
  })

  describe('the diffs of a poll that are too long together', () => {
    /** 1.2 MB. Three such diffs fit into an answer. */
    const long = 'x'.repeat(1_200_000)
    const polls: readonly [granularity: string, steps: readonly ('put' | 'delete' | 'long')[], numbers: number[][]][] =
      [
        [
          'none',
          ['long', 'long', 'put', 'long', 'long', 'put'],
          [
            [1, 2, 3, 4],
            [5, 6],
          ],
        ],
        [
          'none',
          ['long', 'delete', 'long', 'long', 'long', 'long'],
          [
            [1, 2, 3, 4],
            [5, 6],
          ],
        ],
        // The full state brings what these lack.
        ['high', ['long', 'long', 'put', 'long', 'long', 'put'], [[2, 3, 4, 5, 6]]],
        ['low', ['put', 'long', 'long', 'long', 'long'], [[3, 4, 5]]],
        // The deletion follows the acknowledgement.
        ['high', ['long', 'delete', 'long', 'long', 'long', 'long'], [[4, 5, 6]]],
        ['low', ['put', 'delete', 'long', 'long', 'long', 'long'], [[4, 5, 6]]],
      ]
    for (const [granularity, steps, numbers] of polls) {
      it(`name the number up to which an answer is complete after ${steps.join(', ')}, ${granularity} (SUB-36)`, async () => {
        const { actor, peer, id, put } = await world([400], granularity)
        const path = `/subscriptions/${peer.peerId}/${id}`
        for (const [n, step] of steps.entries()) {
          if (step === 'delete') assert.equal((await actor.request('DELETE', '/properties/mood')).status, 204)
          else await put(step === 'long' ? `${n}${long}` : n)
        }
        for (const [at, answer] of numbers.entries()) {
          const {
            data,
            sequence,
            last_sequence: last,
          } = (await (await peer.request('GET', path)).json()) as {
            data: { sequence: number }[]
            sequence: number
            last_sequence?: number
          }
          const isCut = at < numbers.length - 1
          assert.deepEqual(
            [data.map((diff) => diff.sequence), sequence, last],
            [answer, isCut ? answer.at(-1) : steps.length, isCut ? steps.length : undefined],
          )
          assert.equal((await peer.request('PUT', path, { sequence })).status, 204)
        }
      })
    }
  })

  describe('a Python peer that synchronizes', () => {
    const made: readonly [
      steps: ('append' | 'put' | 'resync' | 'long')[],
      notes: number[],
      mood: number | undefined,
    ][] = [
      [['append', 'put', 'resync'], [0], 1],
      [['append', 'resync', 'put', 'append'], [0, 3], 2],
      [['append', 'append', 'append', 'resync', 'append'], [0, 1, 2, 4], undefined],
      [['resync', 'append', 'put', 'append', 'put'], [1, 3], 4],
      // More than an answer to a poll holds.
      [['append', 'long', 'long', 'append', 'long', 'long', 'put'], [0, 3], 6],
    ]
    for (const [steps, notes, mood] of made) {
      it(`has the state of its publisher after changes and resyncs (${steps.join(', ')}) that did not arrive (SUB-34, SUB-36)`, async () => {
        const peer = await PythonPeer.start({ autoAccept: 'friend' })
        closers.push(() => peer.close())
        const clock = new ManualClock()
        const service = await start({ listen: true, now: clock.now, timers: clock.timers })
        const actor = await service.createActor()
        assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
        const handle = await service.app.actors.get(actor.id)
        assert.ok(handle !== undefined)
        const subscriber = new PythonSubscriber(peer)
        await subscriber.subscribe(actor.id)
        subscriber.processes = false
        for (const [n, step] of steps.entries()) {
          if (step === 'append') await handle.list('notes').append(n)
          else if (step !== 'resync') {
            const value = step === 'long' ? 'x'.repeat(1_200_000) : n
            assert.equal((await actor.request('PUT', '/properties/mood', value)).status, 204)
          } else {
            await handle.subscriptions.suspend('properties')
            await handle.subscriptions.resume('properties')
          }
        }
        await subscriber.sync(actor.id)
        const { values, lists } = subscriber.copyOf(actor.id)
        assert.deepEqual([lists.get('notes'), values.get('mood')], [notes, mood])
      })
    }
  })

  describe('the copy of a Python peer that acknowledges what it has not applied', () => {
    async function pythonWorld(granularity: string, options: Partial<TroupeOptions> = {}) {
      const clock = new ManualClock()
      const peer = await PythonPeer.start({ autoAccept: 'friend' })
      closers.push(() => peer.close())
      const tags = 'callbacks,subscriptionresync,subscriptions,trust'
      peer.route('GET', /^\/meta\/actingweb\/supported$/, () => ({ status: 200, body: tags }))
      const service = await start({ listen: true, now: clock.now, timers: clock.timers, random: () => 1, ...options })
      const actor = await service.createActor()
      const write = async (path: string, value: unknown): Promise<void> => {
        assert.equal((await actor.request('PUT', `/properties/${path}`, value)).status, 204)
      }
      const remove = async (name: string): Promise<void> => {
        assert.equal((await actor.request('DELETE', `/properties/${name}`)).status, 204)
      }
      for (const name of ['mood', 'trip', 'plan']) await write(name, { is: 'known' })
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
      const { store } = await service.app.running()
      const areOptionsKnown = async () =>
        (await store.read((q) => findTrust(q, actor.id, peer.id)))?.facts.aw_supported === tags
      await passUntil(clock, [service], areOptionsKnown, 1000)
      const subscriber = new PythonSubscriber(peer, { now: clock.now })
      const id = await subscriber.subscribe(actor.id, granularity)
      const names = (): string[] => [...subscriber.copyOf(actor.id).values.keys()].toSorted()
      assert.deepEqual(names(), ['mood', 'plan', 'trip'])
      const until = (holds: () => boolean | Promise<boolean>): Promise<void> => passUntil(clock, [service], holds, 1000)
      const isSettled = async (sequence: number): Promise<boolean> => {
        const answer = await actor.request('GET', `/subscriptions/${peer.id}/${id}?timeline=true`)
        return ((await answer.json()) as { settled: number }).settled >= sequence
      }
      return { actor, clock, peer, service, subscriber, id: id ?? '', names, write, remove, until, isSettled }
    }

    type PythonWorld = Awaited<ReturnType<typeof pythonWorld>>

    it('loses what was deleted before a gap in the poll (SUB-34)', async () => {
      const { actor, service, subscriber, names, write, remove, until, isSettled } = await pythonWorld('high')
      const handle = await service.app.actors.get(actor.id)
      subscriber.processes = false
      await write('mood', 1)
      await remove('trip')
      await handle?.subscriptions.suspend('properties')
      await handle?.subscriptions.resume('properties')
      await write('mood', 2)
      await until(() => isSettled(4))
      await subscriber.sync(actor.id)
      assert.deepEqual(names(), ['mood', 'plan', 'trip'])
      subscriber.processes = true
      await until(() => names().length === 2)
      assert.deepEqual(names(), ['mood', 'plan'])
    })

    it('loses what was deleted after the backup from which the peer was restored (SUB-34)', async () => {
      const { actor, service, subscriber, id, names, write, remove, until, isSettled, clock } =
        await pythonWorld('high')
      await write('mood', 1)
      await until(() => isSettled(1))
      const restore = subscriber.backup()
      await remove('trip')
      await write('mood', 3)
      await until(() => isSettled(3))
      assert.deepEqual([subscriber.last(id), names()], [3, ['mood', 'plan']])
      restore()
      assert.deepEqual([subscriber.last(id), names()], [1, ['mood', 'plan', 'trip']])
      await write('mood', 4)
      await until(() => isSettled(4))
      clock.pass(minuteMs)
      await write('mood', 5)
      await until(() => names().length === 2)
      assert.deepEqual([subscriber.last(id), names()], [6, ['mood', 'plan']])
      // The deletion arrived. It is not sent a third time.
      await subscriber.sync(actor.id)
      for (let hour = 0; hour < 48; hour += 12) {
        clock.pass(12 * hourMs)
        await service.settled()
      }
      assert.equal(subscriber.last(id), 6)
    })

    /** The peer has approved, and its message about that was lost. */
    async function forgetApproval({ service, actor, peer, clock }: PythonWorld): Promise<void> {
      const { store } = await service.app.running()
      await store.writeActor(actor.id, async (tx) => {
        const trust = await findTrust(tx, actor.id, peer.id)
        assert.ok(trust !== null)
        await updateTrust(tx, { ...trust, peerApproved: false }, clock.now())
      })
    }

    /** Lets the fetches of the full state fail while `fails` holds, and counts the resyncs that the peer accepts. */
    async function resyncWorld(
      fails: (resyncs: number) => boolean,
      { readsBefore = false, ...options }: Partial<TroupeOptions> & { readonly readsBefore?: boolean } = {},
      isApprovalKnown = true,
    ) {
      const world = await pythonWorld('high', { activityPerActor: 1000, ...options })
      if (!isApprovalKnown) await forgetApproval(world)
      // Reads within a minute share an entry of the audit log.
      world.clock.pass(2 * minuteMs)
      const { actor, service, peer, subscriber, clock, id } = world
      const resyncs: number[] = []
      const begun = clock.now()
      peer.route('POST', /^\/callbacks\/subscriptions\//, ({ body }) => {
        if (body.includes('"resync"')) resyncs.push(Math.round((clock.now() - begun) / minuteMs))
        return undefined
      })
      const call = peer.call.bind(peer)
      peer.call = async (method, url, ...others) => {
        if (method !== 'GET' || !url.endsWith('/properties')) return call(method, url, ...others)
        const fetched = fails(resyncs.length) ? { error: 503 } : await call(method, url, ...others)
        // It fetches before it answers the callback.
        clock.pass(1000)
        return fetched
      }
      if (readsBefore) {
        const { secret = '' } = peer.trusts.get(actor.id) ?? {}
        assert.ok('data' in (await call('GET', `${service.url}/${actor.id}/properties/plan`, secret)))
        clock.pass(1000)
      }
      const handle = await service.app.actors.get(actor.id)
      await handle?.subscriptions.suspend('properties')
      await world.write('mood', 'new')
      await handle?.subscriptions.resume('properties')
      const mood = () => subscriber.copyOf(actor.id).values.get('mood')
      const isFailing = async (): Promise<boolean> => {
        const answer = await actor.request('GET', `/subscriptions/${peer.id}/${id}?timeline=true`)
        return ((await answer.json()) as { failing_since: string | null }).failing_since !== null
      }
      const passHours = async (hours: number, stepMs: number): Promise<void> => {
        for (let passed = 0; passed < hours * hourMs; passed += stepMs) {
          clock.pass(stepMs)
          await service.settled()
        }
      }
      return { ...world, resyncs, mood, isFailing, passHours }
    }

    it('gets one resync when the peer fetches the full state (SUB-39)', async () => {
      const { resyncs, mood, isFailing, passHours } = await resyncWorld(() => false)
      await passHours(48, hourMs)
      assert.deepEqual([resyncs.length, mood(), await isFailing()], [1, 'new', false])
    })

    it('gets further resyncs until the peer has fetched the full state (SUB-39)', async () => {
      const { resyncs, mood, until, isFailing, passHours } = await resyncWorld((count) => count < 4)
      await until(() => resyncs.length === 3)
      assert.deepEqual([mood(), await isFailing()], [{ is: 'known' }, true])
      await until(() => mood() === 'new')
      await passHours(48, hourMs)
      assert.deepEqual([resyncs.length, mood(), await isFailing()], [4, 'new', false])
    })

    it('gets resyncs that become rarer while the peer cannot fetch the full state (SUB-39)', async () => {
      const { resyncs, isFailing, passHours } = await resyncWorld(() => true)
      await passHours(24, 10 * minuteMs)
      assert.ok(resyncs.length >= 8 && resyncs.length <= 16, `resyncs at minutes ${resyncs.join(', ')}`)
      assert.equal(await isFailing(), true)
    })

    it('keeps its time to fetch when the owner retries, and a read before the resync does not count (SUB-39)', async () => {
      const { actor, service, clock, resyncs, mood, until, isFailing, passHours } = await resyncWorld(
        (count) => count === 1,
        { readsBefore: true },
      )
      await until(() => resyncs.length === 1)
      const { store } = await service.app.running()
      await store.write((tx) => redriveAll(tx, { actorId: actor.id }, clock.now()))
      await until(() => mood() === 'new')
      await passHours(48, hourMs)
      assert.deepEqual([resyncs.length, mood(), await isFailing()], [2, 'new', false])
    })

    it('gets one resync when no read is recorded, because the audit log is off (SUB-39)', async () => {
      const { resyncs, isFailing, passHours } = await resyncWorld(() => true, { activityPerActor: 0 })
      await passHours(24, hourMs)
      assert.deepEqual([resyncs.length, await isFailing()], [1, false])
    })

    for (const fetches of [true, false])
      it(`gets one resync while its approval is not known, when the peer ${fetches ? 'fetches' : 'cannot fetch'} the full state (SUB-39)`, async () => {
        const { actor, peer, resyncs, mood, write, until, isFailing, passHours } = await resyncWorld(
          () => !fetches,
          {},
          false,
        )
        await passHours(48, hourMs)
        assert.deepEqual([resyncs.length, await isFailing()], [1, false])
        await peer.approve(actor.id)
        await write('mood', 'newer')
        await until(() => mood() === 'newer')
        await passHours(48, hourMs)
        assert.deepEqual([resyncs.length, await isFailing()], [1, false])
      })

    for (const [granularity, value] of [
      ['low', { is: 'new' }],
      ['high', { is: 'x'.repeat(70_000) }],
    ] as const)
      it(`gets the full state after the peer could not read the URL of a callback, ${granularity} (SUB-18)`, async () => {
        const { actor, peer, subscriber, names, write, remove, until, isSettled } = await pythonWorld(granularity)
        const call = peer.call.bind(peer)
        peer.call = async (method, url, ...others) =>
          method === 'GET' && url.includes('/subscriptions/') ? { error: 503 } : call(method, url, ...others)
        await write('mood', value)
        await until(() => isSettled(1))
        assert.deepEqual(subscriber.copyOf(actor.id).values.get('mood'), { is: 'known' })
        if (granularity === 'low') await remove('trip')
        peer.call = call
        await until(
          async () => JSON.stringify(subscriber.copyOf(actor.id).values.get('mood')) === JSON.stringify(value),
        )
        if (granularity === 'low') await until(() => !names().includes('trip'))
        assert.deepEqual(names(), granularity === 'low' ? ['mood', 'plan'] : ['mood', 'plan', 'trip'])
      })
  })

  describe('a Python peer whose ingress fails for a while', () => {
    const has = async (recovers: boolean): Promise<void> => {
      const clock = new ManualClock()
      const peer = await PythonPeer.start({ autoAccept: 'friend' })
      closers.push(() => peer.close())
      const service = await start({ listen: true, now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== undefined)
      const subscriber = new PythonSubscriber(peer)
      subscriber.recovers = recovers
      const id = await subscriber.subscribe(actor.id)
      const copied = (): number[] => (subscriber.copy.get('notes') ?? []) as number[]
      let fails = false
      peer.route('POST', /^\/callbacks\/subscriptions\//, () => (fails ? { status: 502 } : undefined))
      for (let n = 1; n <= 7; n++) {
        fails = n >= 3 && n <= (recovers ? 3 : 5)
        await handle.list('notes').append(n)
        const sequence = n
        await passUntil(
          clock,
          [service],
          async () => {
            const answer = await actor.request('GET', `/subscriptions/${peer.id}/${id}?timeline=true`)
            return ((await answer.json()) as { settled: number }).settled >= sequence
          },
          1000,
        )
        assert.equal(new Set(copied()).size, copied().length)
      }
      fails = false
      await passUntil(clock, [service], () => JSON.stringify(copied()) === '[1,2,3,4,5,6,7]', 1000)
      await untilEqual(copied, () => [1, 2, 3, 4, 5, 6, 7])
    }

    it('has the same list as its publisher afterwards, without another change (SUB-18)', () => has(false))

    it('has no item twice when it polls because of the gap (SUB-22)', () => has(true))
  })

  describe('an actor that moves while the copy of a peer is in doubt', () => {
    it('deletes at its new service what the copy of a Python peer missed (MOV-23)', async () => {
      const clock = new ManualClock()
      const world = await movingWorld(start, { all: { now: clock.now, timers: clock.timers, random: () => 1 } })
      const { old, home, peers, network } = world
      const services = [old, home, peers]
      const alice = await old.createActor('alice@example.com')
      const python = PythonPeer.within(
        {
          origin: 'https://py.example.com',
          id: 'f'.repeat(32),
          send: async ({ url, ...call }) => {
            const service = services.find((one) => url.startsWith(one.url)) ?? old
            const answer = await service.app.fetch(new Request(url, call))
            return { status: answer.status, location: answer.headers.get('location'), body: await answer.text() }
          },
        },
        { autoAccept: 'friend' },
      )
      let isDeploying = false
      network.serve('https://py.example.com', async (request) => {
        const { pathname, search } = new URL(request.url)
        if (isDeploying && pathname.includes('/callbacks/subscriptions/')) return new Response(null, { status: 404 })
        const { status, body } = await python.answer({
          method: request.method,
          path: pathname.slice(python.id.length + 1) + search,
          headers: Object.fromEntries(request.headers),
          body: await request.text(),
        })
        return new Response(status === 204 ? null : JSON.stringify(body), { status })
      })
      const subscriber = new PythonSubscriber(python)
      for (const [name, value] of Object.entries({ mood: 'sunny', trip: { to: 'Oslo' }, kept: 1 }))
        assert.ok((await alice.request('PUT', `/properties/${name}`, value)).ok)
      await alice.request('POST', '/properties', { log: { _type: 'list' } })
      await alice.request('POST', '/properties/log', '1')
      assert.equal((await alice.request('POST', '/trust', { url: python.url, relationship: 'friend' })).status, 201)
      assert.ok(await subscriber.subscribe(alice.id))
      const names = (): string[] => [...subscriber.copy.keys()].toSorted()
      assert.deepEqual(names(), ['kept', 'log', 'mood', 'trip'])
      isDeploying = true
      for (const name of ['mood', 'trip', 'log']) await alice.request('DELETE', `/properties/${name}`)
      const { store } = await old.app.running()
      const failed = `SELECT sequence FROM delivery WHERE actor_id = $1 AND outcome = 'failed'`
      await passUntil(clock, services, async () => (await store.read((q) => q.all(failed, alice.id))).length === 3)
      isDeploying = false
      await world.move(alice)
      await passUntil(clock, services, async () => (await home.request(`/${alice.id}/meta/id`)).status === 200)
      await takeAt(home, alice)
      await passUntil(clock, services, () => python.trusts.get(alice.id)?.baseuri === `${home.url}/${alice.id}`, 10_000)
      await passUntil(clock, services, () => names().length === 1, 10_000)
      assert.deepEqual(names(), ['kept'])
    })

    // Below 0: the copy only lacks deletions, or the peer has accepted a resync and may still fetch the full state.
    for (const [end, repairs] of [
      ['at its new service', 0],
      ['at its new service', -1],
      ['at its new service', -2],
      ['at its new service', -9],
      ['at its old one, when the owner stops the move', 0],
    ] as const)
      it(`sends the resync ${end}, after ${repairs} repairs (MOV-13)`, async () => {
        const clock = new ManualClock()
        const world = await movingWorld(start, { all: { now: clock.now, timers: clock.timers, random: () => 1 } })
        const { old, home, peers, network } = world
        const services = [old, home, peers]
        const { alice, bob } = await related(world)
        let isDeploying = true
        network.serve(peers.url, (request) =>
          isDeploying && request.url.includes('/callbacks/subscriptions/')
            ? new Response(null, { status: 404 })
            : peers.app.fetch(request),
        )
        assert.ok((await alice.request('POST', '/properties/log', '2')).ok)
        const doubts = async (service: typeof old): Promise<object[]> => {
          const { store } = await service.app.running()
          return store.read((q) =>
            q.all('SELECT repairs FROM publisher_subscription WHERE actor_id = $1 AND repair_at IS NOT NULL', alice.id),
          )
        }
        await passUntil(clock, services, async () => (await doubts(old)).length === 1)
        const { store } = await old.app.running()
        await store.write((tx) =>
          tx.run('UPDATE publisher_subscription SET repairs = $1 WHERE repair_at IS NOT NULL', repairs),
        )
        isDeploying = false
        const isStopped = end !== 'at its new service'
        if (isStopped) network.fate = ({ method }) => (method === 'PUT' ? 'unreached' : 'arrives')
        await world.move(alice)
        if (isStopped) {
          await passUntil(clock, services, () => network.saw(/^PUT /))
          assert.equal((await alice.request('DELETE', '/move')).status, 204)
        } else {
          await passUntil(clock, services, async () => (await home.request(`/${alice.id}/meta/id`)).status === 200)
          assert.deepEqual(await doubts(home), [{ repairs: 0 }])
          await takeAt(home, alice)
        }
        assert.deepEqual(await copyOf(bob, alice), [1])
        await passUntil(clock, services, async () => (await copyOf(bob, alice)).length === 2, 10_000)
        assert.deepEqual(await copyOf(bob, alice), [1, 2])
        await passUntil(clock, services, async () => (await doubts(isStopped ? old : home)).length === 0, 10_000)
      })
  })
})
