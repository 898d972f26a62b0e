/** The list of features, and their order. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { builtInFeature, type Feature } from '../../src/features/feature.ts'
import { orderedFeatures } from '../../src/features/features.ts'
import { builtInFeatures } from '../../src/features/list.ts'
import { mayImport } from '../support/directions.ts'

const named = (name: string, ...needs: string[]): Feature =>
  builtInFeature({ name, needs, start: () => ({ parts: undefined }) })

describe('the list of features', () => {
  it('has each folder below src/features, under the name of the folder', () => {
    const entries = readdirSync(join(import.meta.dirname, '..', '..', 'src', 'features'), { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    assert.deepEqual(builtInFeatures.map(({ name }) => name).toSorted(), folders.toSorted())
  })

  it('has an order in which each feature starts after those that it needs', () => {
    assert.equal(orderedFeatures(builtInFeatures).length, builtInFeatures.length)
  })

  it('declares each table once', () => {
    const tables = builtInFeatures.flatMap((feature) => feature.tables.map(({ name }) => name))
    assert.deepEqual(tables, [...new Set(tables)])
  })
})

describe('the rooms of features', () => {
  it('are known only to the service, the application and the commands', () => {
    const knowing = Object.entries(mayImport).filter(
      ([room, imports]) => !room.startsWith('features') && imports.some((name) => name.startsWith('features')),
    )
    assert.deepEqual(
      knowing.map(([room]) => room),
      ['app-feature', 'service', 'troupe', 'cli'],
    )
  })

  it('know other features only by their needs', () => {
    for (const { name, needs } of builtInFeatures) {
      const known = (mayImport[`features/${name}`] ?? []).filter((room) => /^features\/(?!feature$)/.test(room))
      assert.deepEqual(
        known.filter((room) => !needs.includes(room.slice('features/'.length))),
        [],
      )
    }
  })
})

describe('the order of features', () => {
  it('puts those that others need first, and keeps the order of the list otherwise', () => {
    const list = [named('a', 'c'), named('b'), named('c', 'd'), named('d')]
    assert.deepEqual(
      orderedFeatures(list).map(({ name }) => name),
      ['d', 'c', 'a', 'b'],
    )
  })

  const refused: [what: string, list: readonly Feature[], why: string][] = [
    ['two features with one name', [named('a'), named('a')], 'Cannot use the features: two have the same name'],
    [
      'a feature whose need is not in the list',
      [named('a', 'b')],
      'Cannot use the feature a: it needs b, which is not in the list',
    ],
    ['a feature that needs itself', [named('a', 'a')], 'Cannot use the feature a: it needs itself, through a'],
    [
      'features that need each other',
      [named('a', 'b'), named('b', 'c'), named('c', 'a')],
      'Cannot use the feature a: it needs itself, through a, b, c',
    ],
  ]
  for (const [what, list, message] of refused)
    it(`refuses ${what}`, () => {
      assert.throws(() => orderedFeatures(list), { message })
    })
})
