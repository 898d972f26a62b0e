/** The test kit with background work: the clock runs alarms and schedules, and `settled` waits for events. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { type App, troupe } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'

function createShop(seen: string[]): App {
  const app = troupe({ type: 'urn:actingweb:example.com:shop', name: 'Shop' })
  const remind = app.alarm('remind', { data: z.object({ text: z.string() }) }, ({ data }) => {
    seen.push(`remind ${data.text}`)
  })
  app.action('plan', async ({ actor }) => {
    await actor.alarm(Date.parse('2031-01-01T01:30:00Z'), remind, { text: 'milk' })
  })
  app.on('property_changed', async ({ actor, name, value }) => {
    seen.push(`${name} ${JSON.stringify(value)}`)
    if (name === 'order') await actor.set('state', 'ordered')
  })
  app.schedule('tidy', { every: '1h' }, ({ scheduledAt }) => {
    seen.push(`tidy ${scheduledAt.toISOString().slice(11, 16)}`)
  })
  return app
}

describe('testing(app) with background work', () => {
  it('runs alarms and schedules at their time, one after another', async () => {
    const seen: string[] = []
    await using t = await testing(createShop(seen), { now: '2031-01-01T00:00:00Z' })
    const ada = await t.signIn('ada@example.com')
    await ada.action('plan')
    await t.clock.advance('59m')
    assert.deepEqual(seen, [])
    await t.clock.advance('2h')
    assert.deepEqual(seen, ['tidy 01:00', 'remind milk', 'tidy 02:00'])
  })

  it('waits for events, and for the events of their handlers', async () => {
    const seen: string[] = []
    await using t = await testing(createShop(seen))
    const { actor } = await t.app.actors.create()
    await actor.set('order', 7)
    await t.settled()
    assert.deepEqual(seen, ['order 7', 'state "ordered"'])
  })

  it('sends webhooks to the outside of the test', async () => {
    const received: unknown[] = []
    await using t = await testing(createShop([]), {
      outside: async (request) => {
        received.push([request.url, ((await request.json()) as { type: string }).type])
        return new Response(null, { status: 204 })
      },
    })
    const { actor } = await t.app.actors.create()
    await actor.webhooks.add('https://receiver.example.com/hook', { events: ['property_changed'] })
    await actor.set('order', 7)
    await t.settled()
    assert.deepEqual(received, [
      ['https://receiver.example.com/hook', 'property_changed'],
      ['https://receiver.example.com/hook', 'property_changed'],
    ])
  })
})
