import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testing } from 'troupe/testing'
import { z } from 'zod'
import { createApp } from './app.ts'

it('adds a note, and refuses an empty one', async () => {
  await using t = await testing(createApp())
  const ada = await t.signIn('ada@example.com')
  assert.deepEqual(await ada.action('add_note', { text: 'Buy a violin' }, z.object({ index: z.int() })), { index: 0 })
  await assert.rejects(ada.action('add_note', { text: '' }), { status: 400, code: 'invalid_input' })
})

it('shows the notes of a person to no other caller', async () => {
  await using t = await testing(createApp())
  const ada = await t.signIn('ada@example.com')
  await ada.action('add_note', { text: 'A secret' })
  assert.equal((await t.fetch(`/${ada.actor.id}/properties/notes`)).status, 401)
})
