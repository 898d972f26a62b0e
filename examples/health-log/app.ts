/** Health log: a diary of very many readings. A doctor at another service reads single days, until the access ends. */
import { type App, PeerRefused, ServiceError, troupe } from 'troupe'
import { z } from 'zod'

const Reading = z.object({ day: z.iso.date(), time: z.iso.time(), pulse: z.int().min(20).max(300) })
const Push = z.object({ readings: z.array(Reading).min(1).max(1000) })
const Share = z.object({ doctor: z.string(), until: z.iso.datetime() })
const Examination = z.object({ patient: z.string(), day: z.iso.date(), after: z.string().nullable().default(null) })
const Page = z.object({ items: z.array(z.object({ item: Reading })).readonly(), next: z.string().nullable() })

export function createHealthLog(): App {
  const app = troupe({ type: 'urn:actingweb:example.com:health-log', name: 'Health log' })
  const diary = app.list('diary', { item: Reading, indexes: ['day', 'time'], description: 'The pulse of a person' })

  app.action('push', { input: Push }, ({ actor, input }) => actor.list(diary).extend(input.readings))

  app.action('share', { input: Share }, async ({ actor, input: { doctor, until } }) => {
    await actor.trust.grant(doctor, {
      properties: { patterns: ['diary'], operations: ['read'] },
      until: new Date(until),
    })
  })

  app.action('examine', { input: Examination, output: Page }, async ({ actor, input: { patient, day, after } }) => {
    try {
      return await actor.peer(patient).list(diary).query({ where: { day }, sort: 'time', limit: 100, after })
    } catch (error) {
      if (error instanceof PeerRefused) throw new ServiceError('forbidden', 'The patient does not share the diary')
      throw error
    }
  })

  app.trustType({
    name: 'doctor',
    display_name: 'Doctor',
    description: 'Reads nothing, until the patient shares the diary',
    permissions: {},
  })
  return app
}

export default createHealthLog()
