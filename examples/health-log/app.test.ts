import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testing, type TestPerson } from 'troupe/testing'
import { z } from 'zod'
import { createHealthLog } from './app.ts'

const Page = z.object({ items: z.array(z.object({ item: z.object({ time: z.string() }) })), next: z.string() })

/** Pushes twelve days with a reading for each of 1,000 minutes, in the wrong order. */
async function fill(person: TestPerson): Promise<void> {
  const minutes = Array.from({ length: 1000 }, (_, minute) => new Date(minute * 60_000).toISOString().slice(11, 16))
  for (let day = 10; day < 22; day++) {
    const readings = minutes.toReversed().map((time) => ({ day: `2030-01-${day}`, time, pulse: 70 }))
    await person.action('push', { readings })
  }
}

it('lets a doctor at another service read days of a long diary until the access ends', async () => {
  await using t = await testing(createHealthLog())
  const clinic = await t.second(createHealthLog())
  const [ada, dora] = [await t.signIn('ada@example.com'), await clinic.signIn('dora@clinic.example')]
  await fill(ada)
  await t.befriend(dora, ada, 'doctor')
  const examination = { patient: ada.actor.id, day: '2030-01-15' }
  await assert.rejects(dora.action('examine', examination), { status: 403, code: 'forbidden' })

  await ada.action('share', { doctor: dora.actor.id, until: new Date(t.clock.now() + 3_600_000).toISOString() })
  const { items, next } = await dora.action('examine', examination, Page)
  assert.deepEqual([items.length, items[0]?.item.time, items[99]?.item.time], [100, '00:00', '01:39'])
  const following = await dora.action('examine', { ...examination, after: next }, Page)
  assert.equal(following.items[0]?.item.time, '01:40')
  assert.deepEqual(await dora.action('examine', { ...examination, day: '2030-02-01' }), { items: [], next: null })

  await t.clock.advance('1h')
  await assert.rejects(dora.action('examine', examination), { status: 403, code: 'forbidden' })
})

it('refuses a reading that cannot be right, and names its field', async () => {
  await using t = await testing(createHealthLog())
  const ada = await t.signIn('ada@example.com')
  const wrong = { readings: [{ day: '2030-01-10', time: '08:00', pulse: 7 }] }
  await assert.rejects(ada.action('push', wrong), { status: 400, code: 'invalid_input', message: /readings\.0\.pulse/ })
})
