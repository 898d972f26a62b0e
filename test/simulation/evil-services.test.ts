/** The checks of evil services notice each value and each secret that no right gave. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hashSecret } from '../../src/secret/hash.ts'
import { seeded } from '../support/random.ts'
import { bogusTimes } from './evil/forged.ts'
import { canary, Heard } from './evil/heard.ts'
import { evilOf } from './evil/roles.ts'

describe('what an evil service has heard', () => {
  const heardBy = (mayRead: (mark: string, number: number) => boolean): { heard: Heard; found: string[] } => {
    const found: string[] = []
    return { heard: new Heard({ name: 'evil', violation: (text) => found.push(text), mayRead }), found }
  }

  it('is reported for each value that it may not read, wherever it stands (MOV-16)', () => {
    const { heard, found } = heardBy((mark) => mark === 'open')
    heard.take(`{"a":"${canary('open', 1)}","b":["${canary('inner', 2)}"]}`, 'GET /x')
    heard.take(`https://evil.test/?${canary('closed', 3)}`, 'POST /y')
    assert.deepEqual(found, [
      'EVIL: evil received canary-inner-2 by GET /x',
      'EVIL: evil received canary-closed-3 by POST /y',
    ])
  })

  it('is reported for each value after the time from which it may not read (MOV-16)', () => {
    const { heard, found } = heardBy((_mark, number) => number < 10)
    heard.take(`${canary('closed', 9)} ${canary('open', 10)}`, 'GET /x')
    assert.deepEqual(found, ['EVIL: evil received canary-open-10 by GET /x'])
  })

  it('is reported for each secret of others, as a credential or in a text, and not for its own (MOV-16)', () => {
    const { heard, found } = heardBy(() => true)
    const [first, second, third, own] = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(40))
    const all = new Map([first, second, third, own].map((secret = '', index) => [hashSecret(secret), `actor ${index}`]))
    heard.take(`{"secret":"${first}"}`, 'GET /trust')
    heard.takeCredential(second ?? '')
    heard.own(own ?? '')
    heard.take(`secret=${own}`, 'GET /trust')
    heard.judge(all)
    assert.deepEqual(found, ['EVIL: evil received the secret of actor 0', 'EVIL: evil received the secret of actor 1'])
  })
})

describe('the evil services of a run', () => {
  it('are a stranger in half of the seeds, and old homes in half of them (MOV-16)', () => {
    const choices = Array.from({ length: 600 }, (_, seed) => evilOf(seed))
    const count = (choice: string): number => choices.filter((one) => one === choice).length
    assert.deepEqual(
      ['none', 'stranger', 'old-home', 'both'].map((choice) => count(choice)),
      [200, 100, 100, 200],
    )
  })

  it('state times that no honest service states (MOV-16)', () => {
    const random = seeded(1)
    const times = new Set(Array.from({ length: 200 }, () => String(bogusTimes(random)['moved_at'])))
    assert.ok(times.has('8640000000000000') && times.has('soon') && times.has('-1') && times.has('0'))
  })
})
