/** Statements about several keys. Plain PostgreSQL runs the form of a sharded database here, too. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findBuckets, takeStored } from '../../src/rate-limit/limit-store.ts'
import { asSharded, counting, forEachStore } from '../support/stores.ts'

const keys = ['plain', '"quoted"', String.raw`back\slash`, 'a,b', '{a}', 'NULL', '', ' ', 'two\nlines', 'ünï', "it's"]

forEachStore((dialect, open) => {
  describe('a statement about several keys', () => {
    for (const form of dialect === 'postgres' ? ['as it is', 'on a sharded database'] : ['as it is']) {
      it(`finds the rows of exactly these keys, whatever characters they contain, ${form}`, async () => {
        const opened = await open()
        const store = form === 'as it is' ? opened : asSharded(opened)
        await store.write(async (tx) => {
          for (const key of [...keys, 'a', 'b', 'null']) await takeStored(tx, key, 1000, { count: 1, seconds: 1 })
        })
        const found = await store.read((q) => findBuckets(q, keys))
        assert.deepEqual([...found.keys()].toSorted(), keys.toSorted())
      })

      it(`is one statement for none, one and many keys, ${form}`, async () => {
        const counted = counting()
        const opened = await open({ onQuery: counted.onQuery })
        const store = form === 'as it is' ? opened : asSharded(opened)
        for (const some of [[], ['plain'], keys]) {
          counted.reset()
          await store.read((q) => findBuckets(q, some))
          assert.equal(counted.statements.length, 1)
        }
      })
    }
  })
})
