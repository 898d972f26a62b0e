/** Reads and writes of an actor that are one: `update`, `transaction` and exclusive operations. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ActorHandle, TransactionHandle } from '../../src/app/actor-handle.ts'
import { ServiceError } from '../../src/errors.ts'
import type { Json } from '../../src/json/json.ts'
import type { App } from '../../src/troupe.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { seeded } from '../support/random.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { bound } from '../support/stores.ts'
import { until } from '../support/until.ts'

interface Budget {
  readonly spent: number
}

const spentOf = (value: Json | undefined): number => (value as unknown as Budget | undefined)?.spent ?? 0

const textOf = (value: Json): string => (typeof value === 'string' ? value : '')

function declareSpend(app: App): void {
  app.action('spend', { exclusive: true }, async ({ actor, input }) => {
    const spent = spentOf(await actor.get('budget')) + (input as { amount: number }).amount
    // Other calls run while this handler waits.
    await turn()
    await actor.set('budget', { spent })
    return { spent }
  })
}

async function handleIn(service: TestService): Promise<ActorHandle> {
  return (await service.app.actors.create({ creator: 'ada@example.com' })).actor
}

async function handleOf(service: TestService, id: string): Promise<ActorHandle> {
  const actor = await service.app.actors.get(id)
  assert.ok(actor !== undefined)
  return actor
}

forEachService((start, dialect) => {
  describe('an exclusive action', () => {
    it('counts 50 simultaneous calls as 50', async () => {
      const service = await start({ declare: declareSpend })
      const actor = await service.createActor()
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => actor.request('POST', '/actions/spend', { amount: 1 })),
      )
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.deepEqual(await (await actor.request('GET', '/properties/budget')).json(), { spent: 50 })
    })

    it('counts 50 simultaneous calls in two processes as 50', async () => {
      const one = await start({ declare: declareSpend })
      const other = await start({ declare: declareSpend, database: one.databaseUrl })
      const actor = await one.createActor()
      const headers = { authorization: actor.authorization, 'content-type': 'application/json' }
      const call = async (service: TestService): Promise<number> => {
        const init = { method: 'POST', headers, body: '{"amount":1}' }
        return (await service.request(`/${actor.id}/actions/spend`, init)).status
      }
      const statuses = await Promise.all(Array.from({ length: 50 }, (_, at) => call(at % 2 === 0 ? one : other)))
      assert.deepEqual([...new Set(statuses)], [200])
      assert.deepEqual(await (await actor.request('GET', '/properties/budget')).json(), { spent: 50 })
    })

    it('stores nothing when its handler throws', async () => {
      const service = await start({
        declare: (app) =>
          app.action('fail', { exclusive: true }, async ({ actor }) => {
            await actor.set('a', 1)
            await actor.list('l').append('x')
            throw new Error('no')
          }),
      })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/actions/fail', {})).status, 500)
      assert.deepEqual(service.changes, [])
      assert.deepEqual(await (await actor.request('GET', '/properties')).json(), {})
    })

    it('passes a declined call to the next handler', async () => {
      const service = await start({
        declare: (app) => {
          app.action('either', { exclusive: true }, () => null)
          app.action('either', async ({ actor }) => ({ trusts: (await actor.trust.list()).length }))
        },
      })
      const actor = await service.createActor()
      assert.deepEqual(await (await actor.request('POST', '/actions/either', {})).json(), { trusts: 0 })
    })
  })

  describe('update', () => {
    it('replaces a value by the result of the function', async () => {
      const actor = await handleIn(await start())
      assert.deepEqual(await actor.update('budget', (value) => ({ spent: spentOf(value) + 3 })), { spent: 3 })
      assert.deepEqual(await actor.update('budget', async (value) => ({ spent: spentOf(value) + 4 })), { spent: 7 })
      assert.equal(await actor.update('budget/spent', (value) => Number(value) * 2), 14)
      assert.deepEqual(await actor.get('budget'), { spent: 14 })
    })

    it('runs again when a single write came between', async () => {
      const actor = await handleIn(await start())
      await actor.set('n', 1)
      const seen: unknown[] = []
      await actor.update('n', async (value) => {
        seen.push(value)
        if (seen.length === 1) await actor.set('n', 10)
        return Number(value) + 1
      })
      assert.deepEqual(seen, [1, 10])
      assert.equal(await actor.get('n'), 11)
    })

    it('does not run again when another property changed', async () => {
      const actor = await handleIn(await start())
      let runs = 0
      await actor.update('n', async () => {
        runs += 1
        await actor.set('other', runs)
        return 1
      })
      assert.equal(runs, 1)
    })

    it('fails with 409 after 50 runs that were overtaken', async () => {
      const actor = await handleIn(await start({ random: () => 0 }))
      let runs = 0
      await assert.rejects(
        actor.update('n', async () => {
          runs += 1
          await actor.set('n', runs)
          return 0
        }),
        { code: 'conflict', message: /came between 50 times/ },
      )
      assert.equal(runs, 50)
      assert.equal(await actor.get('n'), 50)
    })

    it('refuses the name of a list, and a value that is not JSON', async () => {
      const actor = await handleIn(await start())
      await actor.list('l').append(1)
      await assert.rejects(
        actor.update('l', () => 1),
        { code: 'conflict' },
      )
      await assert.rejects(
        actor.update('n', () => Number.NaN),
        { code: 'invalid_value' },
      )
      assert.equal(await actor.get('n'), undefined)
    })
  })

  describe('paths in code', () => {
    it('read, set and delete below a name, as over HTTP', async () => {
      const actor = await handleIn(await start())
      await actor.set('settings', { theme: 'dark', deep: { a: 1 } })
      await actor.set('settings/deep/b', 2)
      await actor.set(['settings', 'with/slash'], true)
      assert.deepEqual(await actor.get('settings/deep'), { a: 1, b: 2 })
      assert.equal(await actor.get(['settings', 'with/slash']), true)
      assert.equal(await actor.delete('settings/deep/a'), true)
      assert.deepEqual(await actor.get('settings'), { theme: 'dark', deep: { b: 2 }, 'with/slash': true })
      assert.equal(await actor.get('settings/none'), undefined)
      await assert.rejects(actor.delete('settings/none'), { code: 'not_found' })
      await assert.rejects(actor.set('settings/theme/x', 1), { code: 'conflict' })
      await assert.rejects(actor.set('settings//x', 1), { code: 'not_found' })
    })

    it('read and write the items of a list', async () => {
      const actor = await handleIn(await start())
      await actor.list('l').extend(['a', 'b'])
      await actor.set('l/1', 'B')
      assert.equal(await actor.get('l/1'), 'B')
      assert.equal(await actor.delete('l/0'), true)
      assert.deepEqual(await actor.list('l').items(), ['B'])
    })
  })

  describe('a transaction', () => {
    it('shows its changes to its own reads, and stores them together', async () => {
      const service = await start()
      const actor = await handleIn(service)
      await actor.set('a', { x: 1 })
      await actor.list('l').extend(['one', 'two'])
      service.reset()
      const result = await actor.transaction(async (tx) => {
        await tx.set('a/y', 2)
        await tx.set('b', 'new')
        await tx.list('l').insert(1, 'between')
        assert.deepEqual(await tx.get('a'), { x: 1, y: 2 })
        assert.deepEqual(await tx.get('l'), ['one', 'between', 'two'])
        assert.deepEqual(await tx.all(), { a: { x: 1, y: 2 }, b: 'new' })
        assert.deepEqual(await tx.lists(), [{ name: 'l', length: 3 }])
        assert.deepEqual(service.changes, [])
        assert.deepEqual(await actor.get('a'), { x: 1 })
        return 'done'
      })
      assert.equal(result, 'done')
      assert.deepEqual(
        service.changes.map(({ subtarget, resource }) => [subtarget, resource]),
        [
          ['a', 'y'],
          ['b', null],
          ['l', null],
        ],
      )
      assert.deepEqual(await actor.all(), { a: { x: 1, y: 2 }, b: 'new' })
      assert.deepEqual(await actor.list('l').items(), ['one', 'between', 'two'])
    })

    it('stores nothing when it throws, when a hook rejects a change, and when a change is refused', async () => {
      const service = await start({ declare: (app) => app.property('closed', { put: () => null }) })
      const actor = await handleIn(service)
      const attempts: ((tx: TransactionHandle) => Promise<unknown>)[] = [
        () => Promise.reject(new Error('no')),
        (tx) => tx.set('closed', 1),
        (tx) => tx.set('a/b', 1),
        (tx) => tx.list('none').update(0, 'x'),
        (tx) => tx.list('a').append('x'),
        (tx) => tx.delete('a/none'),
      ]
      for (const attempt of attempts) {
        await assert.rejects(
          actor.transaction(async (tx) => {
            await tx.set('a', 1)
            await attempt(tx)
          }),
        )
      }
      assert.deepEqual(service.changes, [])
      assert.deepEqual(await actor.all(), {})
    })

    it('runs again when what it has read is no longer true, also after an error', async () => {
      const actor = await handleIn(await start())
      await actor.set('on', false)
      let runs = 0
      await actor.transaction(async (tx) => {
        runs += 1
        const isOn = await tx.get('on')
        if (runs === 1) await actor.set('on', true)
        if (isOn !== true) throw new Error('it is off')
      })
      assert.equal(runs, 2)
    })

    it('runs again when a property was added to all that it has read', async () => {
      const actor = await handleIn(await start())
      const counts: number[] = []
      await actor.transaction(async (tx) => {
        counts.push(Object.keys(await tx.all()).length)
        if (counts.length === 1) await actor.set('added', 1)
        await tx.set('count', counts.at(-1) ?? 0)
      })
      assert.deepEqual(counts, [0, 1])
      assert.deepEqual(await actor.all(), { added: 1, count: 1 })
    })

    it('runs again when an item of a list that it reads changed between two reads', async () => {
      const actor = await handleIn(await start())
      await actor.list('l').extend(['a', 'b'])
      let runs = 0
      const both = await actor.transaction(async (tx) => {
        runs += 1
        const first = await tx.list('l').get(0)
        if (runs === 1) await actor.list('l').update(1, 'changed')
        return [first, await tx.list('l').get(1)]
      })
      assert.deepEqual([runs, both], [2, ['a', 'changed']])
    })

    it('waits for the transaction before it', async () => {
      const actor = await handleIn(await start())
      const order: string[] = []
      const { promise: opened, resolve: open } = Promise.withResolvers<void>()
      const first = actor.transaction(async (tx) => {
        order.push('first begins')
        await opened
        await tx.set('n', 1)
        order.push('first ends')
      })
      const second = actor.transaction(async (tx) => {
        order.push(`second reads ${JSON.stringify(await tx.get('n'))}`)
      })
      open()
      await Promise.all([first, second])
      assert.deepEqual(order, ['first begins', 'first ends', 'second reads 1'])
    })

    it('is right beside others that set, delete, change lists, fail and are overtaken, for 6 seeds', async () => {
      const actor = await handleIn(await start())
      let expected = 0
      for (let seed = 1; seed <= 6; seed++) {
        const random = seeded(seed)
        const one = async (): Promise<number> => {
          const [name, kind] = [random.pick(['a', 'b']), random.below(6)]
          if (kind === 0) await actor.set('other', random.below(9))
          return actor.transaction(async (tx) => {
            const [mine, rest] = [spentOf(await tx.get(name)), spentOf(await tx.get('c'))]
            await tx.set(name, { spent: mine + 1 })
            if (kind === 1) await tx.delete(name)
            if (kind === 1) await tx.set('c', { spent: rest + mine + 1 })
            if (kind === 2) await tx.list('log').append(mine)
            if (kind === 3) throw new Error('refused')
            if (kind === 4) await tx.get('other')
            return 1
          })
        }
        const done = await Promise.allSettled(Array.from({ length: 30 }, one))
        expected += done.filter(({ status }) => status === 'fulfilled').length
        assert.ok(done.every((each) => each.status === 'fulfilled' || /refused/.test(String(each.reason))))
      }
      const { a, b, c } = await actor.all()
      assert.equal(spentOf(a) + spentOf(b) + spentOf(c), expected)
    })

    it('is refused inside another transaction, and after its end', async () => {
      const actor = await handleIn(await start())
      await assert.rejects(
        actor.transaction(async () => actor.update('n', () => 1)),
        { code: 'bad_request', message: /inside a transaction/ },
      )
      let kept: TransactionHandle | undefined
      await actor.transaction(async (tx) => {
        kept = tx
      })
      await assert.rejects(kept?.set('n', 1) ?? Promise.resolve(), /after the transaction has ended/)
      await assert.rejects(kept?.get('n') ?? Promise.resolve(), /after the transaction has ended/)
      assert.deepEqual(await actor.all(), {})
    })

    it('is refused with more than 10,000 changes', async () => {
      const actor = await handleIn(await start())
      await assert.rejects(
        actor.transaction(async (tx) => {
          for (let n = 0; n <= 10_000; n++) await tx.set('n', n)
        }),
        { code: 'bad_request', message: /more than 10000 things/ },
      )
      assert.deepEqual(await actor.all(), {})
    })

    it('is refused for an actor that was deleted', async () => {
      const service = await start()
      const actor = await handleIn(service)
      await service.app.actors.delete(actor.id)
      await assert.rejects(
        actor.update('n', () => 1),
        { code: 'actor_not_found' },
      )
    })

    it('redeems a handle of an item that was read before', async () => {
      const actor = await handleIn(await start())
      await actor.list('l').extend(['a', 'b', 'c'])
      const [, b, c] = await actor.list('l').itemsWithHandles()
      assert.ok(b !== undefined && c !== undefined)
      await actor.transaction(async (tx) => {
        await tx.list('l').insert(0, 'new')
        assert.equal(await tx.list('l').updateByHandle(b.handle, 'B'), true)
        assert.equal(await tx.list('l').updateByHandle(b.handle, 'again'), false)
        assert.equal(await tx.list('l').deleteByHandle(c.handle), true)
        assert.equal(await tx.list('l').deleteByHandle(c.handle), false)
      })
      assert.deepEqual(await actor.list('l').items(), ['new', 'a', 'B'])
    })

    it('runs the hooks of the values that it writes and reads', async () => {
      const service = await start({
        declare: (app) => {
          app.property('name', { put: ({ value }) => textOf(value).trim(), get: ({ value }) => `<${textOf(value)}>` })
          app.property('l', { post: ({ path, value }) => (path.length === 1 && value === 'bad' ? null : value) })
        },
      })
      const actor = await handleIn(service)
      await actor.transaction(async (tx) => {
        await tx.set('name', '  Ada ')
        assert.equal(await tx.get('name'), '<Ada>')
      })
      assert.equal(await actor.get('name'), '<Ada>')
      await assert.rejects(
        actor.transaction(async (tx) => tx.list('l').extend(['good', 'bad'])),
        { code: 'rejected' },
      )
      assert.equal(await actor.list('l').exists(), false)
    })

    it('changes lists like an array, during the transaction and after it, for 12 seeds', async () => {
      const service = await start()
      for (let seed = 1; seed <= 12; seed++) {
        const actor = await handleOf(service, (await handleIn(service)).id)
        const random = seeded(seed)
        const model: string[] = Array.from({ length: random.below(600) }, (_, at) => `stored ${at}`)
        await actor.list('l').create()
        if (model.length > 0) await actor.list('l').extend(model)
        await actor.transaction(async (tx) => {
          const list = tx.list('l')
          for (let change = 0; change < 30; change++) {
            const item = `new ${change}`
            const at = random.below(model.length + 1)
            const isThere = at < model.length
            switch (random.pick(['append', 'extend', 'insert', 'update', 'delete', 'pop', 'where', 'clear'])) {
              case 'append':
                assert.equal(await list.append(item), model.push(item) - 1)
                break
              case 'extend':
                await list.extend([item, item])
                model.push(item, item)
                break
              case 'insert':
                await list.insert(at, item)
                model.splice(at, 0, item)
                break
              case 'update':
                if (!isThere) await assert.rejects(list.update(at, item), { code: 'invalid_index' })
                else await list.update(at, item)
                if (isThere) model[at] = item
                break
              case 'delete':
                if (!isThere) await assert.rejects(list.delete(at), { code: 'invalid_index' })
                else await list.delete(at)
                model.splice(at, 1)
                break
              case 'pop':
                assert.equal(await list.pop(), model.pop())
                break
              case 'where':
                assert.equal(await list.removeWhere('none', 1), 0)
                break
              case 'clear':
                if (random.below(8) !== 0) break
                await list.clear()
                model.length = 0
            }
            assert.equal(await list.length(), model.length)
            assert.equal(await list.get(at), model[at])
          }
          assert.deepEqual(await list.items(), model)
          assert.deepEqual(await list.items(3, 7), model.slice(3, 7))
        })
        assert.deepEqual(await actor.list('l').items(), model, `seed ${seed}`)
      }
    })

    it('finds, updates and removes by a field, and creates a list again', async () => {
      const actor = await handleIn(await start())
      await actor.list('l').extend([{ k: 1 }, { k: 2 }, { k: 1 }])
      await actor.transaction(async (tx) => {
        const list = tx.list('l')
        await list.append({ k: 2, isNew: true })
        assert.deepEqual(await list.find('k', 2), { index: 1, item: { k: 2 } })
        assert.deepEqual(await list.findAll('k', 2), [
          { index: 1, item: { k: 2 } },
          { index: 3, item: { k: 2, isNew: true } },
        ])
        assert.equal(await list.updateWhere('k', 1, { k: 3 }), 2)
        assert.equal(await list.removeWhere('k', 2, { firstOnly: true }), 1)
        const pages = await Array.fromAsync(list.pages(2))
        assert.deepEqual(pages, [
          [
            { index: 0, item: { k: 3 } },
            { index: 1, item: { k: 3 } },
          ],
          [{ index: 2, item: { k: 2, isNew: true } }],
        ])
      })
      assert.deepEqual(await actor.list('l').items(), [{ k: 3 }, { k: 3 }, { k: 2, isNew: true }])
      await actor.transaction(async (tx) => {
        assert.equal(await tx.list('l').remove(), true)
        assert.equal(await tx.list('l').exists(), false)
        await tx.list('l').create({ description: 'Again' })
        await tx.list('l').append('only')
      })
      assert.deepEqual(await actor.list('l').items(), ['only'])
      assert.equal((await actor.list('l').metadata())?.description, 'Again')
    })
  })

  // PostgreSQL commits the changes of an actor in another order (docs/decisions/047).
  if (dialect === 'sqlite')
    describe('transactions of one actor', () => {
      interface Held {
        readonly actor: ActorHandle
        /** Lets the commits continue. The first of them fails when `fails`. */
        readonly release: (fails?: boolean) => void
      }

      /** An actor with `n` 0, whose next commits wait. */
      async function held(): Promise<Held> {
        let gate: Promise<void> = Promise.resolve()
        let fails = false
        const service = await start({
          // The wait for the turn of a transaction ends after 5 s.
          timers: new ManualClock().timers,
          wrapStore: (store) => ({
            ...bound(store),
            async writeActor(actorId, work, origin) {
              await gate
              const isFirst = fails
              fails = false
              if (isFirst) throw new ServiceError('store_unavailable', 'The disk is away')
              return store.writeActor(actorId, work, origin)
            },
          }),
        })
        const actor = await handleIn(service)
        await actor.set('n', 0)
        const { promise, resolve } = Promise.withResolvers<void>()
        gate = promise
        return {
          actor,
          release(firstFails = false) {
            fails = firstFails
            resolve()
          },
        }
      }

      const add = (seen: unknown[]) => (value: Json | undefined) => {
        seen.push(value ?? null)
        return Number(value ?? 0) + 1
      }

      it('read what those before them will store, while their commits are on their way', async () => {
        const { actor, release } = await held()
        const seen: unknown[] = []
        const updates = [1, 2, 3].map(() => actor.update('n', add(seen)))
        await until(() => seen.length === 3)
        assert.deepEqual([...seen], [0, 1, 2])
        const removed = actor.transaction(async (tx) => {
          seen.push((await tx.get('n')) ?? null)
          await tx.delete('n')
        })
        const after = actor.transaction(async (tx) => {
          seen.push((await tx.get('n')) ?? 'nothing')
          await tx.set('n/below', 'x')
        })
        const last = actor.update('n', (value) => {
          seen.push(value ?? null)
          return 'the end'
        })
        await until(() => seen.length === 6)
        release()
        assert.deepEqual(await Promise.all(updates), [1, 2, 3])
        await Promise.all([removed, after, last])
        assert.deepEqual(seen, [0, 1, 2, 3, 'nothing', { below: 'x' }])
        assert.equal(await actor.get('n'), 'the end')
      })

      it('run again when a commit before them fails', async () => {
        const { actor, release } = await held()
        const [first, second] = [[], []] as [Json[], Json[]]
        const failing = actor.update('n', add(first))
        const following = [actor.update('n', add(second)), actor.update('n', add(second))]
        await until(() => second.length === 2)
        release(true)
        await assert.rejects(failing, { code: 'store_unavailable' })
        assert.deepEqual(await Promise.all(following), [1, 2])
        assert.deepEqual([first, second], [[0], [1, 2, 0, 1]])
        assert.equal(await actor.get('n'), 2)
      })

      for (const fails of [true, false]) {
        it(`report an error about a value only if it was stored, and it ${fails ? 'was not' : 'was'}`, async () => {
          const { actor, release } = await held()
          const first = actor.update('n', () => 1)
          const seen: Json[] = []
          const second = actor.update('n', (value) => {
            seen.push(value ?? null)
            if (value === 1) throw new Error('it is 1 already')
            return 5
          })
          const settled = Promise.allSettled([first, second])
          await until(() => seen.length === 1)
          release(fails)
          const [, { status }] = await settled
          assert.deepEqual([status, seen], fails ? ['fulfilled', [1, 0]] : ['rejected', [1]])
          assert.equal(await actor.get('n'), fails ? 5 : 1)
        })
      }

      it('wait for the commit of a transaction that changes a list', async () => {
        const { actor, release } = await held()
        const seen: Json[] = []
        const first = actor.transaction(async (tx) => {
          seen.push('first')
          await tx.set('n', 1)
          await tx.list('log').append('a')
        })
        const second = actor.update('n', add(seen))
        const third = actor.transaction(async (tx) => tx.list('log').get(0))
        await until(() => seen.length === 1)
        await actor.get('n')
        assert.deepEqual(seen, ['first'])
        release()
        assert.deepEqual(await Promise.all([first, second, third]), [undefined, 2, 'a'])
        assert.deepEqual(seen, ['first', 1])
      })

      it('run ahead of 15 others at most', async () => {
        const { actor, release } = await held()
        const seen: Json[] = []
        const updates = Array.from({ length: 20 }, () => actor.update('n', add(seen)))
        await until(() => seen.length === 16)
        await actor.get('n')
        assert.equal(seen.length, 16)
        release()
        await Promise.all(updates)
        assert.deepEqual(
          seen,
          Array.from({ length: 20 }, (_, n) => n),
        )
        assert.equal(await actor.get('n'), 20)
      })
    })
})
