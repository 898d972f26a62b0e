import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { avatar, initialsOf } from '../../src/pages/shared/avatar.ts'

describe('the initials of a name', () => {
  for (const [name, initials] of [
    ['Ada Lovelace', 'AL'],
    ['Ada King Noel Lovelace', 'AL'],
    ['ada@example.com', 'A'],
    ['ada.lovelace@example.com', 'AL'],
    ['éa za', 'ÉZ'],
    ['李小龍', '李'],
    ['😀 Grace', 'G'],
    ['@example.com', ''],
    ['<script>', 'S'],
    ['', ''],
  ] as const) {
    it(`of “${name}” are “${initials}”`, () => assert.equal(initialsOf(name), initials))
  }
})

describe('an avatar', () => {
  it('has the color of its id, whatever the name', async () => {
    const color = async (id: string, name: string) => /fill="(#\w+)"/.exec(String(await avatar(id, name)))?.[1]
    assert.deepEqual(
      [await color('a1', 'Ada'), await color('a1', 'Grace'), await color('b7', 'Ada')],
      ['#0f6670', '#0f6670', '#1d5590'],
    )
  })

  it('is round for a person and square for an app', async () => {
    const corner = async (isApp: boolean) => /rx="(\d+)"/.exec(String(await avatar('a1', 'Ada', isApp)))?.[1]
    assert.deepEqual([await corner(false), await corner(true)], ['20', '10'])
  })
})
