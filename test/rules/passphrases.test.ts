import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Actor } from '../../src/actor/actor.ts'
import { Passphrases } from '../../src/actor/passphrases.ts'
import { generateKey, parseKeyRing } from '../../src/secret/key-ring.ts'
import { open, seal, type Sealed } from '../../src/secret/sealed.ts'
import { until } from '../support/until.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const ring = parseKeyRing(generateKey())

function actorWith(id: string, passphrase: Sealed): Actor {
  return { id, creator: `${id}@example.com`, passphrase, trusteeRoot: null, guardedUntil: 0 } as Actor
}

const sealed = (id: string, passphrase: string): Sealed => seal(ring, passphrase, [id])

function counted(): { readonly passphrases: Passphrases; readonly opened: string[] } {
  const opened: string[] = []
  const passphrases = new Passphrases((actor) => {
    opened.push(actor.id)
    return open(ring, actor.passphrase, [actor.id])
  })
  return { passphrases, opened }
}

describe('the passphrase of an actor', () => {
  it('is unsealed once for each sealed text', () => {
    const { passphrases, opened } = counted()
    const ada = actorWith('ada', sealed('ada', 'correct'))
    assert.equal(passphrases.fits(ada, 'correct'), true)
    assert.equal(passphrases.fits(ada, 'wrong'), false)
    assert.equal(passphrases.fits(ada, ''), false)
    assert.equal(passphrases.fits(ada, 'correct'), true)
    assert.deepEqual(opened, ['ada'])
  })

  it('no longer fits after a change, and the new one fits', () => {
    const { passphrases, opened } = counted()
    assert.equal(passphrases.fits(actorWith('ada', sealed('ada', 'old')), 'old'), true)
    const changed = actorWith('ada', sealed('ada', 'new'))
    assert.equal(passphrases.fits(changed, 'old'), false)
    assert.equal(passphrases.fits(changed, 'new'), true)
    assert.deepEqual(opened, ['ada', 'ada'])
  })

  it('does not fit an actor that has the sealed text of another one (SEC-02)', () => {
    const { passphrases } = counted()
    const ada = actorWith('ada', sealed('ada', 'of Ada'))
    assert.equal(passphrases.fits(ada, 'of Ada'), true)
    const grace = actorWith('grace', ada.passphrase)
    assert.throws(() => passphrases.fits(grace, 'of Ada'))
  })

  it('is forgotten when too many others were used, and fits again', () => {
    const { passphrases, opened } = counted()
    const ada = actorWith('ada', sealed('ada', 'correct'))
    passphrases.fits(ada, 'correct')
    const before = opened.length
    for (let index = 0; index < 10_000; index += 1) {
      const id = `other-${index}`
      passphrases.fits(actorWith(id, sealed(id, 'x')), 'x')
    }
    assert.equal(passphrases.fits(ada, 'correct'), true)
    assert.equal(opened.filter((id) => id === 'ada').length, before + 1)
  })

  it('keeps no buffers of other work in memory', async () => {
    const { passphrases, opened } = counted()
    collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    for (let index = 0; index < 2000; index += 1) {
      const id = `other-${index}`
      passphrases.fits(actorWith(id, sealed(id, 'x')), 'x')
      Buffer.allocUnsafe(Buffer.poolSize / 4)
    }
    // V8 gives buffers back in the background after a collection.
    await until(() => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers - before < 2 ** 20
    })
    const last = actorWith('other-1999', sealed('other-1999', 'x'))
    assert.equal(passphrases.fits(last, 'x'), true)
    assert.equal(opened.length, 2001)
  })
})

describe('the creator and the passphrase of an actor', () => {
  it('fit only together', () => {
    const { passphrases, opened } = counted()
    const ada = actorWith('ada', sealed('ada', '7 correct'))
    const fits = (creator: string, passphrase: string): boolean =>
      passphrases.fitsLogin(ada, 'ada@example.com', { creator, passphrase })
    assert.equal(fits('ada@example.com', '7 correct'), true)
    assert.equal(fits('ada@example.com', 'wrong'), false)
    assert.equal(fits('grace@example.com', '7 correct'), false)
    // The same text, divided at another place.
    assert.equal(fits('ada@example.com7', ' correct'), false)
    assert.equal(fits('', 'ada@example.com7 correct'), false)
    assert.equal(fits('ada@example.com', '7 correct'), true)
    assert.deepEqual(opened, ['ada'])
  })

  it('fit under each name of the actor, and never without the passphrase', () => {
    const { passphrases } = counted()
    const ada = actorWith('ada', sealed('ada', 'correct'))
    for (const creator of ['ada@example.com', 'former@example.com', 'alone']) {
      assert.equal(passphrases.fits(ada, 'correct'), true)
      assert.equal(passphrases.fitsLogin(ada, creator, { creator, passphrase: 'correct' }), true)
      assert.equal(passphrases.fitsLogin(ada, creator, { creator, passphrase: '' }), false)
    }
  })
})
