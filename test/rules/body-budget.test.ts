import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, it } from 'node:test'
import { BodyBudget, type BodyShare } from '../../src/http/edge/memory/body-budget.ts'
import { ServiceError } from '../../src/errors.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { seeded } from '../support/random.ts'

const stays = (): (() => void) => () => {}

class Trial {
  readonly clock = new ManualClock()
  readonly budget = new BodyBudget({ totalBytes: 100, waitMs: 1000, timers: this.clock.timers })
  /** The outcome of each request, by its name. */
  readonly outcomes: string[] = []
  readonly shares = new Map<string, BodyShare>()

  /** Asks for a share. @param name Begins with the sender: `a1` is a request of `a`. */
  async ask(name: string, bytes: number, onGone: (then: () => void) => () => void = stays): Promise<this> {
    this.budget.take(name.slice(0, 1), bytes, onGone).then(
      (share) => {
        this.shares.set(name, share)
        this.outcomes.push(name)
      },
      (error: unknown) => {
        assert.ok(error instanceof ServiceError)
        assert.equal(error.code, 'unavailable')
        assert.deepEqual(error.detail.headers, { Connection: 'close' })
        assert.equal(error.detail.retryAfterSeconds, 5)
        this.outcomes.push(`${name} refused`)
      },
    )
    await turn()
    return this
  }

  async arrived(name: string, bytes: number): Promise<void> {
    this.shares.get(name)?.arrived(bytes)
    await turn()
  }

  async release(name: string): Promise<void> {
    this.shares.get(name)?.release()
    await turn()
  }

  async pass(ms: number): Promise<void> {
    this.clock.pass(ms)
    await turn()
  }
}

describe('the budget of request bodies', () => {
  it('admits bodies that fit, and the next one when a share is returned', async () => {
    const trial = new Trial()
    for (const name of ['a', 'b', 'c']) await trial.ask(name, 40)
    assert.deepEqual(trial.outcomes, ['a', 'b'])
    await trial.release('a')
    assert.deepEqual(trial.outcomes, ['a', 'b', 'c'])
    await trial.pass(10_000)
    assert.equal(trial.clock.waiting, 0)
    assert.deepEqual(trial.outcomes, ['a', 'b', 'c'])
  })

  it('refuses a body with 503 and Retry-After after the wait, before it is read', async () => {
    const trial = new Trial()
    for (const name of ['a', 'b']) await trial.ask(name, 60)
    await trial.pass(999)
    assert.deepEqual(trial.outcomes, ['a'])
    await trial.pass(1)
    assert.deepEqual(trial.outcomes, ['a', 'b refused'])
    await trial.release('a')
    await trial.ask('c', 100)
    assert.deepEqual(trial.outcomes, ['a', 'b refused', 'c'])
  })

  it('admits a body that is larger than the budget when no other has a share', async () => {
    const trial = new Trial()
    await trial.ask('a', 10)
    await trial.ask('b', 1000)
    await trial.ask('c', 10)
    assert.deepEqual(trial.outcomes, ['a'])
    await trial.release('a')
    assert.deepEqual(trial.outcomes, ['a', 'b'])
    await trial.release('b')
    assert.deepEqual(trial.outcomes, ['a', 'b', 'c'])
  })

  it('leaves half of it to others while the bodies of a sender arrive', async () => {
    const trial = new Trial()
    for (const name of ['a1', 'a2', 'a3']) await trial.ask(name, 25)
    assert.deepEqual(trial.outcomes, ['a1', 'a2'])
    for (const name of ['b1', 'b2']) await trial.ask(name, 25)
    assert.deepEqual(trial.outcomes, ['a1', 'a2', 'b1', 'b2'])
    await trial.arrived('a1', 20)
    assert.deepEqual(trial.outcomes, ['a1', 'a2', 'b1', 'b2'])
    await trial.release('b1')
    assert.deepEqual(trial.outcomes, ['a1', 'a2', 'b1', 'b2', 'a3'])
  })

  it('is used by one sender alone when its bodies arrive', async () => {
    const trial = new Trial()
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) {
      await trial.ask(name, 25)
      await trial.arrived(name, 25)
    }
    assert.deepEqual(trial.outcomes, ['a1', 'a2', 'a3', 'a4'])
  })

  it('admits the sender that has least first, and others in the order of their requests', async () => {
    const trial = new Trial()
    for (const name of ['a1', 'a2']) {
      await trial.ask(name, 50)
      await trial.arrived(name, 50)
    }
    for (const name of ['a3', 'a4', 'b1', 'c1', 'b2']) await trial.ask(name, 50)
    await trial.release('a1')
    await trial.release('a2')
    assert.deepEqual(trial.outcomes, ['a1', 'a2', 'b1', 'a3'])
    await trial.release('b1')
    await trial.release('a3')
    assert.deepEqual(trial.outcomes, ['a1', 'a2', 'b1', 'a3', 'c1', 'a4'])
  })

  it('counts a body of unknown length with its real length after it has arrived', async () => {
    const trial = new Trial()
    await trial.ask('a', 100)
    await trial.ask('b', 70)
    await trial.arrived('a', 30)
    assert.deepEqual(trial.outcomes, ['a', 'b'])
  })

  it('forgets the request of a client that has disconnected', async () => {
    const trial = new Trial()
    let leave = (): void => {}
    await trial.ask('a', 80)
    await trial.ask('b', 80, (then) => {
      leave = then
      return () => {}
    })
    await trial.ask('c', 20)
    assert.deepEqual(trial.outcomes, ['a'])
    leave()
    await turn()
    assert.deepEqual(trial.outcomes.toSorted(), ['a', 'b refused', 'c'])
  })

  it('lets 64 requests wait, and refuses the newest of the sender with most of them', async () => {
    const trial = new Trial()
    await trial.ask('z', 100)
    for (let n = 0; n < 64; n++) await trial.ask(`a${n}`, 10)
    assert.deepEqual(trial.outcomes, ['z'])
    await trial.ask('a64', 10)
    await trial.ask('b', 10)
    assert.deepEqual(trial.outcomes, ['z', 'a64 refused', 'a63 refused'])
    await trial.release('z')
    assert.ok(trial.outcomes.includes('b'))
  })

  it('never exceeds the total, and returns every share, for any order of events', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = seeded(seed)
      const trial = new Trial()
      const held = new Map<string, number>()
      for (let step = 0; step < 120; step++) {
        const name = `${random.pick(['a', 'b', 'c'])}${step}`
        const known = [...trial.shares.keys()].filter((one) => held.get(one) !== 0)
        const one = known[random.below(known.length || 1)]
        const choice = random.below(4)
        if (choice < 2) {
          const bytes = 1 + random.below(140)
          held.set(name, Math.min(bytes, 100))
          await trial.ask(name, bytes)
        } else if (choice === 2 && one !== undefined) {
          held.set(one, 0)
          await trial.release(one)
        } else if (one !== undefined) {
          const length = Math.floor((held.get(one) ?? 0) / 2) + 1
          held.set(one, Math.min(length, held.get(one) ?? 0))
          await trial.arrived(one, length)
        }
        if (random.below(8) === 0) await trial.pass(600)
        const sum = [...trial.shares.keys()].reduce((total, each) => total + (held.get(each) ?? 0), 0)
        assert.ok(sum <= 100, `seed ${seed}, step ${step}: ${sum}`)
      }
      await trial.pass(1000)
      for (const one of trial.shares.keys()) await trial.release(one)
      const before = trial.outcomes.length
      await trial.ask('z', 100)
      assert.deepEqual(trial.outcomes.slice(before), ['z'], `seed ${seed}`)
      assert.equal(trial.clock.waiting, 0, `seed ${seed}`)
    }
  })
})
