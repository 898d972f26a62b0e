import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { queryObjects } from 'node:v8'
import { TransactionTurn, TransactionTurns } from '../../src/transaction/turns.ts'
import { ManualClock } from '../support/manual-clock.ts'

const row = (name: string, content: string) => ({ name, kind: 'value' as const, content, version: 1 })

describe('the turns of transactions', () => {
  it('expect the values of all that have not ended, the latest ones first', async () => {
    const turns = new TransactionTurns(new ManualClock().timers, true)
    const [first, second, third] = [turns.take('a'), turns.take('a'), turns.take('a')]
    assert.equal((await first.begin()).expected.size, 0)
    first.commits(
      new Map([
        ['n', row('n', '1')],
        ['m', row('m', '1')],
      ]),
    )
    assert.deepEqual([...(await second.begin()).expected.keys()], ['n', 'm'])
    second.commits(new Map([['n', null]]))
    const { expected } = await third.begin()
    assert.deepEqual([expected.get('n'), expected.get('m')?.content], [null, '1'])
    first.end()
    const fourth = turns.take('a')
    third.commits(new Map())
    assert.deepEqual([...(await fourth.begin()).expected], [['n', null]])
  })

  it('of different actors do not wait for each other', async () => {
    const turns = new TransactionTurns(new ManualClock().timers, true)
    await turns.take('a').begin()
    assert.equal((await turns.take('b').begin()).expected.size, 0)
  })

  it('wait for the end when only the database knows what is stored, and at most 5 s', async () => {
    const clock = new ManualClock()
    const turns = new TransactionTurns(clock.timers, true)
    const [first, second, third] = [turns.take('a'), turns.take('a'), turns.take('a')]
    await first.begin()
    first.commits(null)
    const begun: string[] = []
    const waiting = second.begin().then(({ expected }) => begun.push(`second expects ${expected.size}`))
    await Promise.resolve()
    assert.deepEqual(begun, [])
    first.end()
    await waiting
    assert.deepEqual(begun, ['second expects 0'])
    const late = third.begin()
    clock.pass(5000)
    assert.equal((await late).expected.size, 0)
  })

  it('keep no turn that has ended', async () => {
    const turns = new TransactionTurns(new ManualClock().timers, true)
    let last = turns.take('a')
    for (let n = 0; n < 500; n++) {
      const next = turns.take('a')
      last.commits(new Map())
      await next.begin()
      last.end()
      last = next
    }
    assert.ok(queryObjects(TransactionTurn, { format: 'count' }) < 20)
  })
})
